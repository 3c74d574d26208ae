import type { KeyId } from '../../core/scope.ts';
import type { KeyRow } from '../store.ts';
import type { RawQueries } from './client.ts';
import { KEY_COLUMNS, type RawRow, toKeyRow } from './row.ts';

// No lock: a settled row never changes, and whoever waits for an unsettled one asks again.
const FIND = `
SELECT ${KEY_COLUMNS} FROM idempotency_keys
 WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4`;

/** The committed row of a key, if there is one. */
export async function find(db: RawQueries, id: KeyId): Promise<KeyRow | undefined> {
  const rows = await db.$queryRawUnsafe<RawRow[]>(FIND, id.tenant, id.principal, id.operation, id.key);
  return rows[0] && toKeyRow(rows[0]);
}
