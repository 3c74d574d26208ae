import { IdempotencyError, LeaseLostError } from '../../core/errors.ts';
import type { KeyId } from '../../core/scope.ts';
import type { Claimed, Completion, KeyRow } from '../store.ts';
import type { RawQueries } from './client.ts';
import { isAbortedTransaction } from './errors.ts';
import { KEY_COLUMNS, type RawRow, toKeyRow } from './row.ts';

// The state and the token it leaves are named: an executor that was overtaken, or that completes twice, changes
// nothing and rolls back. It also fails in a transaction that an earlier error has aborted, where COMMIT alone would
// quietly roll back and look like a success.
const COMPLETE = `
UPDATE idempotency_keys
   SET state = $6, result = $7, settled_at = clock_timestamp()
 WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4
   AND state = 'in_progress' AND fencing_token = $5
RETURNING ${KEY_COLUMNS}`;

/**
 * Stores the answer with the effect.
 *
 * @throws LeaseLostError when the key is no longer this executor's
 * @throws IdempotencyError when the handler swallowed a statement's error, which has aborted the transaction
 */
export async function complete(tx: RawQueries, id: KeyId, claimed: Claimed, completion: Completion): Promise<KeyRow> {
  const { state, result } = completion;
  const { tenant, principal, operation, key } = id;
  const rows = await tx
    .$queryRawUnsafe<RawRow[]>(COMPLETE, tenant, principal, operation, key, claimed.fencingToken, state, result)
    .then((found) => found, explained);
  if (rows[0]) return toKeyRow(rows[0]);
  throw new LeaseLostError('The key is no longer held by this execution; its writes are rolled back.', {
    existing: 'another state or fencing token',
    expected: `in_progress with fencing token ${claimed.fencingToken}`,
  });
}

function explained(error: unknown): never {
  if (!isAbortedTransaction(error)) throw error;
  throw new IdempotencyError(
    'A statement of the handler failed and its error was caught; PostgreSQL has aborted the transaction. ' +
      'Look before you write (findUnique, ON CONFLICT) instead of catching, or let the error through.',
    { existing: 'an aborted transaction', expected: 'a transaction that can commit', cause: error },
  );
}
