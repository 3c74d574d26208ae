import { IdempotencyError } from '../../core/errors.ts';
import type { Executed, KeyRow } from '../store.ts';
import { find } from './find.ts';
import type { Gate } from './gate.ts';

/**
 * Looks whether what was said to be committed is. PostgreSQL answers COMMIT of an aborted transaction with ROLLBACK,
 * which Prisma does not look at. It happens when a handler leaves a query unawaited: one of its statements can fail
 * between the completion and COMMIT. Without this look a customer would be told of an order that does not exist.
 */
export async function verified(gate: Gate, told: KeyRow, withinMs: number): Promise<Executed> {
  let row: KeyRow | undefined;
  try {
    row = await gate.ask((db) => find(db, told), { withinMs, isRepeatable: true });
  } catch (error) {
    return { kind: 'in_doubt', error };
  }
  if (row?.result === told.result) return { kind: 'committed', row };
  const error = new IdempotencyError(
    'A statement failed after the handler had returned, and everything was rolled back. Await every query of the handler.',
    { existing: 'another row, or none', expected: 'the row that was committed' },
  );
  // Rolled back, and claimed by another since: that one's answer stands. An older version's is no answer of ours.
  if (row && row.schemaVersion >= told.schemaVersion) return { kind: 'existing', row };
  // With a row there, that our claim was rolled back proves nothing any more.
  return { kind: 'rolled_back', error, why: 'error', at: row ? 'claim' : 'commit' };
}
