import { LeaseLostError } from '../../../core/errors.ts';
import type { Held } from '../../leases.ts';
import { type RawQueries, send } from '../client.ts';
import { LEVEL, type Statement } from '../statement.ts';

/** The key's row as its executor knows it: parameters 1 to 6, from `holderOf`. */
export const IS_HELD = `tenant = $1 AND principal = $2 AND operation = $3 AND key = $4 AND state = $5
   AND fencing_token = $6::int`;

const LEASE_END = `clock_timestamp() + $7::float8 * interval '1 ms'`;
const PROLONGED = `lease_until = CASE state WHEN 'in_progress' THEN ${LEASE_END} END`;

/**
 * What a write of the executor renews with it: parameter 7. An unknown key has no lease, only a turn to be asked. A look
 * that was put off ahead of the run (`postpone`) stays put off: who renews a lease may be about to die of what killed the
 * runs before it.
 */
export const RENEWED = `
  ${PROLONGED}, next_attempt_at = greatest(next_attempt_at, ${LEASE_END})`;

/** The same with a write that gets the key further: should the run die now, the completer comes with the lease's end. */
export const RENEWED_WITH_PROGRESS = `
  ${PROLONGED}, next_attempt_at = ${LEASE_END}`;

// The session setting ends with the transaction. It is for the executor that goes silent inside one, its machine paused
// or its cable cut: the server ends the transaction, and with it the lock that keeps others from taking the key over.
const HOLD = `
UPDATE idempotency_keys SET ${RENEWED} WHERE ${IS_HELD}
RETURNING set_config('idle_in_transaction_session_timeout', $8, true) AS bounded, ${LEVEL}`;

export function holderOf({ id, state, fencingToken }: Held): unknown[] {
  return [id.tenant, id.principal, id.operation, id.key, state, fencingToken];
}

/**
 * Renews the lease, and in a transaction locks the key's row until its end. False: somebody else has the key.
 *
 * As a transaction's first statement it prevents this: an executor that has been overtaken takes business locks, and
 * the one that may write waits for them. And while the row is locked, nobody overtakes (`take.ts` skips it).
 *
 * @param idleMs how long the transaction may be idle before the server ends it
 */
export async function hold(db: RawQueries, held: Held, leaseMs: number, idleMs: number): Promise<boolean> {
  return (await send(db, holdStatement(held, leaseMs, idleMs))).length > 0;
}

/** The same, to be sent with BEGIN: a row, or none where somebody else has the key. */
export function holdStatement(held: Held, leaseMs: number, idleMs: number): Statement {
  return { text: HOLD, values: [...holderOf(held), leaseMs, `${Math.ceil(idleMs) + 1000}ms`], mayWait: true };
}

/** Fails where the rows of this name are none: COMMIT may be behind the statement on the wire, and must roll back. */
export function orFail(rows: string): string {
  return `SELECT ${rows}.* FROM (SELECT 1 / count(*) AS one FROM ${rows}) AS proof LEFT JOIN ${rows} ON proof.one = 1`;
}

/** @throws LeaseLostError unless there is a row: what the statement should have changed is no longer this executor's */
export function stillHeld<Row>(rows: readonly Row[], { state, fencingToken, id }: Held): Row {
  if (rows[0] !== undefined) return rows[0];
  throw leaseLost({ state, fencingToken, id });
}

export function leaseLost({ state, fencingToken, id }: Pick<Held, 'state' | 'fencingToken' | 'id'>): LeaseLostError {
  return new LeaseLostError(`Another executor has taken over ${id.operation} ${id.key}; this write changed nothing.`, {
    existing: 'another state or fencing token',
    expected: `${state} with fencing token ${fencingToken}`,
  });
}
