import type { KeyFilter, KeyPage } from '../store.ts';
import type { RawQueries } from './client.ts';
import { KEY_COLUMNS, type RawRow, toKeyRow } from './row.ts';

// One row more than asked for tells whether there is a next page, without counting all of them.
const LIST = `
SELECT ${KEY_COLUMNS} FROM idempotency_keys
 WHERE ($1::text IS NULL OR state = $1)
   AND ($2::text IS NULL OR operation = $2)
   AND ($3::text IS NULL OR starts_with(key, $3) OR starts_with(principal, $3))
 ORDER BY claimed_at DESC, key DESC
 LIMIT $4::int + 1 OFFSET $5::int`;

/** Key rows, newest first. */
export async function list(db: RawQueries, filter: KeyFilter): Promise<KeyPage> {
  const { state = null, operation = null, search = null, limit, offset } = filter;
  const rows = await db.$queryRawUnsafe<RawRow[]>(LIST, state, operation, search || null, limit, offset);
  return { rows: rows.slice(0, limit).map(toKeyRow), hasMore: rows.length > limit };
}
