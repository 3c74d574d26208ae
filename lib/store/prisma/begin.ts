import type { Begun, LeasedClaim } from '../leases.ts';
import { claimValues } from './claim.ts';
import type { PrismaClientLike, RawQueries } from './client.ts';
import { isLockTimeout } from './errors.ts';
import { MAX_CLAIMS, rivalOf } from './rival.ts';
import { drawTicket, lockTimeout } from './ticket.ts';

// The same insert, ticket and window as a claim in one transaction (`claim.ts`), but alone in its own: what follows
// lies partly outside the database, so the claim is committed first, with a lease that says for how long it is believed.
// `lock_timeout` ends with the statement's transaction. The completer looks at it once the lease is over.
const BEGIN = `
WITH bounded AS MATERIALIZED (SELECT set_config('lock_timeout', $13, true)),
     ticket AS MATERIALIZED (SELECT ${drawTicket('$12', '$14')} AS drawn FROM bounded)
INSERT INTO idempotency_keys (tenant, principal, operation, key, state, fingerprint, fingerprint_version, secret_id,
                              schema_version, minted_at, claimed_at, expires_at, lease_until, next_attempt_at, input,
                              trace_parent)
SELECT $1, $2, $3, $4, 'in_progress', $5::bytea, $6::smallint, $7, $8::int, $9::timestamptz, clock_timestamp(),
       greatest(clock_timestamp(), $9::timestamptz) + $11::float8 * interval '1 ms',
       clock_timestamp() + $15::float8 * interval '1 ms', clock_timestamp() + $15::float8 * interval '1 ms', $16::bytea,
       $17
  FROM ticket
 WHERE drawn
   AND ($9::timestamptz IS NULL
        OR ($9::timestamptz > clock_timestamp() - $10::float8 * interval '1 ms'
            AND $9::timestamptz <= clock_timestamp() + interval '5 min'))
ON CONFLICT (tenant, principal, operation, key) DO NOTHING
RETURNING fencing_token AS "fencingToken"`;

/** `Leases.begin`. */
export async function begin(client: PrismaClientLike, primary: RawQueries, claim: LeasedClaim): Promise<Begun> {
  for (let attempt = 1; attempt <= MAX_CLAIMS; attempt++) {
    const fencingToken = await insert(client, claim);
    if (fencingToken === 'locked') return { kind: 'locked' };
    if (fencingToken !== undefined) {
      const { tenant, principal, operation, key, schemaVersion, input, traceParent = null } = claim;
      const id = { tenant, principal, operation, key };
      return {
        kind: 'held',
        held: {
          id,
          state: 'in_progress',
          fencingToken,
          attempts: 1,
          needsAttention: false,
          schemaVersion,
          input,
          traceParent,
          steps: [],
        },
      };
    }
    const rival = await rivalOf(primary, claim);
    if (rival !== 'vanished') return rival;
  }
  return { kind: 'locked' };
}

/** The token of the claim; undefined when something is in the way, or the key is outside its window. */
async function insert(client: PrismaClientLike, claim: LeasedClaim): Promise<number | 'locked' | undefined> {
  try {
    // Always a transaction, though of one statement: a replica must not get it, and `set_config` must end with it.
    const rows = await client.$transaction(
      (tx: RawQueries) =>
        tx.$queryRawUnsafe<{ fencingToken: number }[]>(
          BEGIN,
          ...claimValues(claim),
          lockTimeout(claim.waitMs),
          claim.waitMs > 0,
          claim.leaseMs,
          claim.input,
          claim.traceParent ?? null,
        ) as Promise<{ fencingToken: number }[]>,
      { timeout: claim.waitMs + 5000, isolationLevel: 'ReadCommitted' },
    );
    return rows[0]?.fencingToken;
  } catch (error) {
    if (isLockTimeout(error)) return 'locked';
    throw error;
  }
}
