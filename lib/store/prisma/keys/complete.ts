import { IdempotencyError, LeaseLostError } from '../../../core/errors.ts';
import type { Claim, Completion, KeyRow } from '../../store.ts';
import { isAbortedTransaction, isBadNumber, isNothingChanged } from '../errors.ts';
import type { Rows, Statement } from '../statement.ts';
import { timestamp } from '../wire/encoding.ts';
import type { Claimed } from './claim.ts';
import { epochMs, IS_KEY, signedAt } from './row.ts';
import { TICKET } from './ticket.ts';

/** The token of a row that has just been inserted. */
export const FIRST_TOKEN = 1;

// The state and the token it leaves are named: an executor that was overtaken, or that completes twice, changes
// nothing. It also fails in a transaction that an earlier error has aborted, where COMMIT alone would quietly roll back and
// look like a success.
const COMPLETE = `
UPDATE idempotency_keys SET state = $6, result = $7, settled_at = clock_timestamp()
 WHERE ${IS_KEY} AND state = 'in_progress' AND fencing_token = $5::int
RETURNING ${epochMs('settled_at')} AS "settledAtMs"`;

// COMMIT may be behind it on the wire already, so that nothing was changed must be an error, which makes COMMIT roll back:
// the division by the number of rows is one where there is none.
const COMPLETE_OR_FAIL = `
WITH completed AS (${COMPLETE})
SELECT max("settledAtMs") AS "settledAtMs", 1 / count(*) AS one FROM completed`;

// The whole row of a claim that has written none. It fails, and with it the COMMIT behind it, where a row is there after all
// (there is no ON CONFLICT), and in another transaction than the one that drew the ticket: a handler that has ended that one
// must not get a key without its effect. A count of what was written would cost a quarter more.
const WRITE = `
INSERT INTO idempotency_keys (tenant, principal, operation, key, state, fingerprint, fingerprint_version, secret_id,
                              schema_version, minted_at, claimed_at, settled_at, expires_at, trace_parent, result,
                              fencing_token)
VALUES ($1, $2, $3, $4, $5, $6::bytea, $7::smallint, $8, $9::int, $10::timestamptz, $11::timestamptz,
        greatest(clock_timestamp(), $11::timestamptz), $12::timestamptz, $13, $14,
        CASE WHEN current_setting('${TICKET}', true) = 'drawn' THEN '${FIRST_TOKEN}' ELSE 'no ticket' END::int)
RETURNING ${epochMs('settled_at')} AS "settledAtMs"`;

/** Stores the answer with the effect, at the end of the transaction that claimed the key. */
export function completionStatement(claim: Claim, claimed: Claimed, { state, result }: Completion): Statement {
  const { tenant, principal, operation, key } = claim;
  if (claimed.isWritten) {
    const values = [tenant, principal, operation, key, FIRST_TOKEN, state, result];
    return { text: COMPLETE_OR_FAIL, alone: COMPLETE, values };
  }
  const { mintedAt, schemaVersion, traceParent = null } = claim;
  const { hash, version, secretId } = claim.fingerprint;
  const isSaid = signedAt(key, secretId)?.getTime() === mintedAt?.getTime();
  const times = [isSaid ? null : mintedAt, new Date(claimed.claimedAtMs), new Date(claimed.expiresAtMs)];
  const sealed = [hash, version, secretId, schemaVersion, ...times.map((at) => at && timestamp(at))];
  return { text: WRITE, values: [tenant, principal, operation, key, state, ...sealed, traceParent, result] };
}

/** The row as it was committed. */
export function completedRow(claim: Claim, claimed: Claimed, { state, result }: Completion, last: Rows): KeyRow {
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

/** Why a completion failed: an IdempotencyError in words, or the error as it is. */
export function explained(error: unknown, { isWritten }: Claimed): unknown {
  if (isBadNumber(error) && !isWritten) return endedTransaction(error);
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

const endedTransaction = (cause: unknown) =>
  new IdempotencyError('The handler has ended its transaction by raw SQL; its answer is not stored.', {
    existing: 'another transaction, or none',
    expected: 'COMMIT and ROLLBACK left to the kit: throw to roll back',
    cause,
  });
