import type { KeyId } from '../../../core/scope.ts';
import type { Step } from '../../leases.ts';
import type { RawQueries } from '../client.ts';
import { IS_KEY } from './row.ts';

/** The columns of a step, in the order of `Step`. Ages by the server's clock, so that no other clock is asked. */
export const STEP_COLUMNS = `name, position, kind, idempotency_phases.state, result,
  idempotency_phases.fencing_token AS "fencingToken", arguments, derived_key AS "derivedKey", sends,
  not_executed AS "notExecuted",
  extract(epoch FROM clock_timestamp() - first_sent_at)::float8 * 1000 AS "sinceFirstSentMs",
  extract(epoch FROM clock_timestamp() - last_sent_at)::float8 * 1000 AS "sinceLastSentMs",
  first_sent_at AS "firstSentAt", finished_at AS "finishedAt", verdict, reference`;

/** How many sends are known to have done nothing, before the next one: all of them where a person said "send it again". */
export const NOT_EXECUTED = `CASE idempotency_phases.verdict WHEN 'retry' THEN idempotency_phases.sends
  ELSE idempotency_phases.not_executed END`;

const STEPS = `
SELECT ${STEP_COLUMNS} FROM idempotency_phases
 WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4
 ORDER BY position`;

/** The steps of a key, in their order. */
export async function stepsOf(db: RawQueries, { tenant, principal, operation, key }: KeyId): Promise<Step[]> {
  return await db.$queryRawUnsafe<Step[]>(STEPS, tenant, principal, operation, key);
}

const HAS_STEP = `
SELECT 1 FROM idempotency_phases WHERE ${IS_KEY} AND name = $5`;

/** Whether a step is stored under this name. */
export async function hasStep(db: RawQueries, { tenant, principal, operation, key }: KeyId, name: string) {
  const rows = await db.$queryRawUnsafe<unknown[]>(HAS_STEP, tenant, principal, operation, key, name);
  return rows.length > 0;
}
