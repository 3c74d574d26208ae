import type { FinishedStep, Held } from '../leases.ts';
import { type RawQueries, send } from './client.ts';
import { isNothingChanged } from './errors.ts';
import { holderOf, IS_HELD, leaseLost, orFail, RENEWED, RENEWED_WITH_PROGRESS, stillHeld } from './hold.ts';
import type { Statement } from './statement.ts';

// Result and recovery point in one statement, under the token. A captured value is no recovery point: nothing has
// happened yet. The insert fails on a name that is there already, which no run with the right token can reach.
const RECORD = `
WITH held AS (
  UPDATE idempotency_keys SET ${RENEWED_WITH_PROGRESS},
         recovery_point = CASE $10::text WHEN 'capture' THEN recovery_point ELSE $8::text END
   WHERE ${IS_HELD} RETURNING 1),
recorded AS (
  INSERT INTO idempotency_phases (tenant, principal, operation, key, name, position, kind, state, result, fencing_token,
                                  finished_at)
  SELECT $1, $2, $3, $4, $8::text, $9::int, $10::text, 'done', $11, $6::int, clock_timestamp() FROM held
  RETURNING name)
${orFail('recorded')}`;

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

/** Writes a step that is finished with its writing: in an atomic phase's own transaction, or a captured value. */
export function stepStatement(
  held: Held,
  leaseMs: number,
  kind: 'atomic' | 'capture',
  { name, position, result }: FinishedStep,
): Statement {
  return { text: RECORD, values: [...holderOf(held), leaseMs, name, position, kind, result] };
}

/** Writes a captured value. */
export async function recordCapture(db: RawQueries, held: Held, leaseMs: number, step: FinishedStep): Promise<void> {
  await send(db, stepStatement(held, leaseMs, 'capture', step)).catch((error) => {
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
