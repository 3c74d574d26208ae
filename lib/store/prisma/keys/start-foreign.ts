import type { ForeignStart, Held, Step } from '../../leases.ts';
import type { RawQueries } from '../client.ts';
import { holderOf, IS_HELD, RENEWED, stillHeld } from './lease.ts';
import { NOT_EXECUTED, STEP_COLUMNS } from './steps.ts';

// Committed before anything is sent: whoever finds the row knows that something may have happened, and what. A second
// send keeps the stored arguments and the stored key, and the time of the first, from which the provider's memory counts:
// unless all before it proved that nothing was done, or a person vouched for that, for then it is the first that the
// provider may remember. A person's verdict was of the time before it: left standing, it would have this send repeated,
// and charged twice.
const START = `
WITH held AS (
  UPDATE idempotency_keys SET ${RENEWED} WHERE ${IS_HELD} RETURNING 1)
INSERT INTO idempotency_phases (tenant, principal, operation, key, name, position, kind, state, arguments, derived_key,
                                fencing_token, sends, first_sent_at, last_sent_at, keys_until)
SELECT $1, $2, $3, $4, $8, $9::int, 'foreign', 'started', $10::bytea, $11, $6::int, 1, clock_timestamp(),
       clock_timestamp(), clock_timestamp() + nullif($12::float8, 0) * interval '1 ms'
  FROM held
ON CONFLICT (tenant, principal, operation, key, name) DO UPDATE
   SET sends = idempotency_phases.sends + 1, last_sent_at = clock_timestamp(), fencing_token = $6::int, verdict = NULL,
       not_executed = ${NOT_EXECUTED},
       first_sent_at = CASE WHEN idempotency_phases.sends > ${NOT_EXECUTED} THEN idempotency_phases.first_sent_at
                            ELSE EXCLUDED.first_sent_at END,
       keys_until = CASE WHEN idempotency_phases.sends > ${NOT_EXECUTED} THEN idempotency_phases.keys_until
                         ELSE EXCLUDED.keys_until END
 WHERE idempotency_phases.state = 'started'
RETURNING ${STEP_COLUMNS}`;

/** `Leases.startForeign`. */
export async function startForeign(db: RawQueries, held: Held, leaseMs: number, call: ForeignStart): Promise<Step> {
  const { name, position, derivedKey, providerKeyTtlMs = 0 } = call;
  const values = [...holderOf(held), leaseMs, name, position, call.arguments, derivedKey, providerKeyTtlMs];
  return stillHeld(await db.$queryRawUnsafe<Step[]>(START, ...values), held);
}
