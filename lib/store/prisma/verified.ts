import { IdempotencyError } from '../../core/errors.ts';
import type { KeyRow } from '../rows.ts';
import type { Executed } from '../store.ts';
import type { RawQueries } from './client.ts';
import type { Gate } from './db.ts';
import { find, IS_KEY } from './keys/read.ts';

// A yes or no, and not the row: nearly always it is what was told, and Prisma's share of reading its columns is large.
const STANDS = `
SELECT 1 FROM idempotency_keys WHERE ${IS_KEY} AND state = $5 AND result IS NOT DISTINCT FROM $6`;

type Told = Pick<KeyRow, 'tenant' | 'principal' | 'operation' | 'key' | 'state' | 'result'>;

/** Whether the committed row of a key is in this state, with this result. */
export async function stands(db: RawQueries, { tenant, principal, operation, key, state, result }: Told) {
  const rows = await db.$queryRawUnsafe<unknown[]>(STANDS, tenant, principal, operation, key, state, result);
  return rows.length > 0;
}

/**
 * Looks whether what was said to be committed is. PostgreSQL answers COMMIT of an aborted transaction with ROLLBACK,
 * which Prisma does not look at. It happens when a handler leaves a query unawaited: one of its statements can fail
 * between the completion and COMMIT. Without this look a customer would be told of an order that does not exist.
 */
export async function verified(gate: Gate, told: KeyRow, withinMs: number): Promise<Executed> {
  let row: KeyRow | undefined;
  const ask = { withinMs, isRepeatable: true };
  try {
    if (await gate.ask((db) => stands(db, told), ask)) return { kind: 'committed', row: told };
    row = await gate.ask((db) => find(db, told), ask);
  } catch (error) {
    return { kind: 'in_doubt', error };
  }
  const error = new IdempotencyError(
    'A statement failed after the handler had returned, and everything was rolled back. Await every query of the handler.',
    { existing: 'another row, or none', expected: 'the row that was committed' },
  );
  // Rolled back, and claimed by another since: that one's answer stands. An older version's is no answer of ours.
  if (row && row.schemaVersion >= told.schemaVersion) return { kind: 'existing', row };
  // With a row there, that our claim was rolled back proves nothing any more.
  return { kind: 'rolled_back', error, why: 'error', at: row ? 'claim' : 'commit' };
}
