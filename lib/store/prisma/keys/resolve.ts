import type { Held } from '../../leases.ts';
import type { RawQueries } from '../client.ts';
import { holderOf, IS_HELD, stillHeld } from './lease.ts';
import { NOT_EXECUTED } from './steps.ts';

// S4: compare-and-set on (state, token). It prevents this: the completer and a person find out at the same time, or a
// late answer comes in, and each goes on with a result of its own.
//
// A person's verdict stays until the call is sent again (`start-foreign.ts`): a run that ends before that leaves it to the
// next one.
const RESOLVE = `
WITH held AS (
  UPDATE idempotency_keys
     SET state = 'in_progress', fencing_token = fencing_token + 1,
         lease_until = clock_timestamp() + $7::float8 * interval '1 ms',
         next_attempt_at = greatest(CASE WHEN $9::text IS NULL THEN next_attempt_at END,
                                    clock_timestamp() + $7::float8 * interval '1 ms'),
         recovery_point = CASE WHEN $9::text IS NULL THEN recovery_point ELSE $8::text END
   WHERE ${IS_HELD}
  RETURNING fencing_token)
UPDATE idempotency_phases
   SET state = CASE WHEN $9::text IS NULL THEN 'started' ELSE 'done' END, result = $9::text,
       not_executed = ${NOT_EXECUTED},
       fencing_token = held.fencing_token,
       finished_at = CASE WHEN $9::text IS NULL THEN NULL ELSE clock_timestamp() END
  FROM held
 WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4 AND name = $8::text
   AND idempotency_phases.state = 'started'
RETURNING held.fencing_token AS "fencingToken"`;

/** `Leases.resolve`. */
export async function resolve(
  db: RawQueries,
  held: Held,
  leaseMs: number,
  { name, result }: { name: string; result: string | null },
): Promise<Held> {
  const rows = await db.$queryRawUnsafe<{ fencingToken: number }[]>(RESOLVE, ...holderOf(held), leaseMs, name, result);
  return { ...held, state: 'in_progress', fencingToken: stillHeld(rows, held).fencingToken };
}
