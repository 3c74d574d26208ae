import { IdempotencyError, LeaseLostError } from '../../core/errors.ts';
import type { Claim, Completion, KeyRow } from '../store.ts';
import type { ClaimedRow } from './claim.ts';
import { isAbortedTransaction, isNothingChanged } from './errors.ts';
import type { Rows, Statement } from './ride.ts';
import { epochMs } from './row.ts';

/** The token of a row that has just been inserted. */
export const FIRST_TOKEN = 1;

// The state and the token it leaves are named: an executor that was overtaken, or that completes twice, changes
// nothing. COMMIT may be behind it on the wire already, so that must be an error, which makes COMMIT roll back: the
// division by the number of rows is one where there is none. It also fails in a transaction that an earlier error has
// aborted, where COMMIT alone would quietly roll back and look like a success.
const COMPLETE = `
WITH completed AS (
  UPDATE idempotency_keys
     SET state = $6, result = $7, settled_at = clock_timestamp()
   WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4
     AND state = 'in_progress' AND fencing_token = $5::int
  RETURNING settled_at)
SELECT ${epochMs('max(settled_at)')} AS "settledAtMs", 1 / count(*) AS one FROM completed`;

/** Stores the answer with the effect, at the end of the transaction that claimed the key. */
export function completionStatement(
  { tenant, principal, operation, key }: Claim,
  { state, result }: Completion,
): Statement {
  return { text: COMPLETE, values: [tenant, principal, operation, key, FIRST_TOKEN, state, result] };
}

/** The row as it was committed. */
export function completedRow(claim: Claim, claimed: ClaimedRow, { state, result }: Completion, last: Rows): KeyRow {
  const { tenant, principal, operation, key, fingerprint, schemaVersion, mintedAt } = claim;
  const [{ settledAtMs }] = last as readonly [{ settledAtMs: number }];
  return {
    tenant,
    principal,
    operation,
    key,
    state,
    fencingToken: FIRST_TOKEN,
    attempts: 1,
    fingerprint,
    result,
    schemaVersion,
    mintedAt,
    claimedAt: new Date(claimed.claimedAtMs),
    settledAt: new Date(settledAtMs),
    expiresAt: new Date(claimed.expiresAtMs),
    leaseUntil: null,
    nextAttemptAt: null,
    recoveryPoint: null,
    needsAttention: false,
    traceParent: claim.traceParent ?? null,
  };
}

/**
 * Why a completion failed: LeaseLostError when the key is no longer this executor's, IdempotencyError when the handler
 * swallowed a statement's error, which has aborted the transaction.
 */
export function explained(error: unknown): unknown {
  if (isNothingChanged(error)) {
    return new LeaseLostError('The key is no longer held by this execution; its writes are rolled back.', {
      existing: 'another state or fencing token',
      expected: `in_progress with fencing token ${FIRST_TOKEN}`,
    });
  }
  return explainedAbort(error);
}

/** IdempotencyError where a swallowed error of a statement has aborted the transaction; other errors as they are. */
export function explainedAbort(error: unknown): unknown {
  if (!isAbortedTransaction(error)) return error;
  return new IdempotencyError(
    'A statement of the handler failed and its error was caught; PostgreSQL has aborted the transaction. ' +
      'Look before you write (findUnique, ON CONFLICT) instead of catching, or let the error through.',
    { existing: 'an aborted transaction', expected: 'a transaction that can commit', cause: error },
  );
}
