import type { Begun, Held, LeasedClaim, Work } from '../leases.ts';
import type { PrismaClientLike } from './client.ts';
import { isLockTimeout, isSetUpFault } from './errors.ts';
import { claimValues, drawTicket, inWindow, lockTimeout, MAX_CLAIMS, type Rival, rivalOf } from './keys/claim.ts';
import { explainedBySchema } from './keys/schema.ts';
import { runTransaction } from './run-transaction.ts';
import { LEVEL, type Statement } from './statement.ts';
import { concluded, type Done, perform } from './transact.ts';
import type { Plan, TransactionOptions } from './transaction.ts';

// The same insert, ticket and window as a claim in one transaction (`claim.ts`), with a lease besides, which says for how
// long the claim is believed once it is committed: what follows lies partly outside the database. The completer looks at
// it when the lease is over. `lock_timeout` is put back by the statement itself, for phases with locks of their own follow.
const BEGIN = `
WITH before AS MATERIALIZED (SELECT current_setting('lock_timeout') AS lock_timeout),
     bounded AS MATERIALIZED (SELECT set_config('lock_timeout', $13, true) FROM before),
     ticket AS MATERIALIZED (SELECT ${drawTicket('$12', '$14')} AS drawn FROM bounded)
INSERT INTO idempotency_keys (tenant, principal, operation, key, state, fingerprint, fingerprint_version, secret_id,
                              schema_version, minted_at, claimed_at, expires_at, lease_until, next_attempt_at, input,
                              trace_parent, fencing_token)
SELECT $1, $2, $3, $4, 'in_progress', $5::bytea, $6::smallint, $7, $8::int, $9::timestamptz, clock_timestamp(),
       greatest(clock_timestamp(), $9::timestamptz) + $11::float8 * interval '1 ms',
       clock_timestamp() + $15::float8 * interval '1 ms', clock_timestamp() + $15::float8 * interval '1 ms', $16::bytea,
       $17, $19::int
  FROM ticket
 WHERE drawn
   AND ${inWindow('$9', '$10')}
ON CONFLICT (tenant, principal, operation, key) DO NOTHING
RETURNING set_config('idle_in_transaction_session_timeout', $18, true) AS idle, ${LEVEL},
          set_config('lock_timeout', (SELECT lock_timeout FROM before), true) AS restored`;

/** `Leases.begin` in one transaction of the user's client. */
export async function begin<Tx>(
  client: PrismaClientLike,
  claim: LeasedClaim,
  run: Work<Tx>,
  how: TransactionOptions,
): Promise<Begun> {
  for (let attempt = 1; ; attempt++) {
    const begun = await beginOnce(client, claim, run, how);
    if (begun !== 'vanished') return begun;
    if (attempt === MAX_CLAIMS) return { kind: 'locked' };
  }
}

async function beginOnce<Tx>(
  client: PrismaClientLike,
  claim: LeasedClaim,
  run: Work<Tx>,
  how: TransactionOptions,
): Promise<Begun | 'vanished'> {
  const { leaseMs } = claim;
  const held = heldBy(claim);
  const done: Done = {};
  const plan: Plan<Tx, Rival> = {
    first(isOwn) {
      done.isOwn = isOwn;
      return [beginStatement(claim, how.timeoutMs)];
    },
    work: async (tx, [claimed], db) =>
      claimed ? await perform({ held, leaseMs, done }, tx, run) : { skip: await rivalOf(db, claim) },
  };
  const ended = await runTransaction(client, plan, how);
  if (ended.kind === 'skipped') return ended.value;
  if (ended.kind === 'rolled_back' && ended.at === 'first') {
    const { error } = ended;
    if (isLockTimeout(error)) return { kind: 'locked' };
    // The claim is a statement of ours alone, so it is not the user's doing.
    if (isSetUpFault(error)) throw await explainedBySchema(error, undefined, 'keys');
  }
  return await concluded(how, { held, done }, ended);
}

function beginStatement(claim: LeasedClaim, holdMs: number): Statement {
  const values = [
    ...claimValues(claim),
    lockTimeout(claim.waitMs),
    claim.waitMs > 0,
    claim.leaseMs,
    claim.input,
    claim.traceParent ?? null,
    `${Math.ceil(holdMs) + 1000}ms`,
    claim.firstToken,
  ];
  return { text: BEGIN, values, mayWait: claim.waitMs > 0 };
}

/** A key as the executor holds it that has just claimed it. */
function heldBy(claim: LeasedClaim): Held {
  const { tenant, principal, operation, key, firstToken, schemaVersion, input, traceParent = null } = claim;
  return {
    id: { tenant, principal, operation, key },
    state: 'in_progress',
    fencingToken: firstToken,
    attempts: 1,
    needsAttention: false,
    schemaVersion,
    input,
    traceParent,
    steps: [],
  };
}
