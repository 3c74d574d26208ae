import type { FinishedStep, Held } from '../../leases.ts';
import { type RawQueries, send } from '../client.ts';
import { isNothingChanged } from '../errors.ts';
import { holderOf, IS_HELD, leaseLost, RENEWED, RENEWED_WITH_PROGRESS, stillHeld } from './lease.ts';
import { writeStatement } from './write.ts';

const FINISH_FOREIGN = `
WITH held AS (
  UPDATE idempotency_keys SET ${RENEWED_WITH_PROGRESS}, recovery_point = $8::text WHERE ${IS_HELD} RETURNING 1)
UPDATE idempotency_phases
   SET state = 'done', result = $9, fencing_token = $6::int, finished_at = clock_timestamp()
  FROM held
 WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4 AND name = $8::text AND state = 'started'
RETURNING name`;

// Each send is counted before it leaves, so the difference is what may have arrived; an executor that dies before it can
// say what its send proved leaves the doubt behind.
const NOT_EXECUTED = `
WITH held AS (
  UPDATE idempotency_keys SET ${RENEWED} WHERE ${IS_HELD} RETURNING 1)
UPDATE idempotency_phases SET not_executed = not_executed + 1
  FROM held
 WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4 AND name = $8::text AND state = 'started'
RETURNING name`;

/** Writes a captured value. */
export async function recordCapture(db: RawQueries, held: Held, leaseMs: number, step: FinishedStep): Promise<void> {
  await send(db, writeStatement(held, leaseMs, { steps: [{ ...step, kind: 'capture' }] })).catch((error) => {
    throw isNothingChanged(error) ? leaseLost(held) : error;
  });
}

/** Writes what a started foreign call came to. */
export async function finishForeign(
  db: RawQueries,
  held: Held,
  leaseMs: number,
  { name, result }: FinishedStep,
): Promise<void> {
  stillHeld(await db.$queryRawUnsafe<unknown[]>(FINISH_FOREIGN, ...holderOf(held), leaseMs, name, result), held);
}

/** `Leases.recordNotExecuted`. */
export async function recordNotExecuted(db: RawQueries, held: Held, leaseMs: number, name: string): Promise<void> {
  stillHeld(await db.$queryRawUnsafe<unknown[]>(NOT_EXECUTED, ...holderOf(held), leaseMs, name), held);
}
