import type { KeyFilter, KeyPage, ListedKey } from '../../oversight.ts';
import type { RawQueries } from '../client.ts';
import { KEY_COLUMNS, type RawRow, toKeyRow } from './row.ts';
import { isStuck, UNFINISHED_KEYS } from './stuck.ts';

/** How far a filter looks that no index knows: half a second's work. What is behind it is found by its key all the same. */
const FAR = 1_000_000;

// Claims of one second have one time: what makes a row unique comes behind it, or rows would change pages. Minted keys
// sort by the time they carry.
const UNIQUE = 'operation, principal, tenant';
const ORDERS = {
  newest: `claimed_at DESC, key DESC, ${UNIQUE}`,
  oldest: `claimed_at, key, ${UNIQUE}`,
  expires: `expires_at, key, ${UNIQUE}`,
} as const;

// A stored answer may have 256 KiB, and no list shows it.
const COLUMNS = KEY_COLUMNS.replace(/\bresult\b/, 'NULL AS result').replace(/\bfingerprint\b/, 'NULL AS fingerprint');

/** Key rows in the wanted order, a page of them. */
export async function list(db: RawQueries, filter: KeyFilter): Promise<KeyPage> {
  const { text, values } = listStatement(filter);
  const rows = await db.$queryRawUnsafe<RawRow[]>(text, ...values);
  return { rows: rows.slice(0, filter.limit).map(listed), hasMore: rows.length > filter.limit };
}

/**
 * No index knows the settled states: one that did would have to be written by every completion. So a filter goes along
 * the index that has the wanted order, and stops when the page is full. The bound keeps PostgreSQL from sorting the whole
 * table where it expects to find little, and a person from waiting for the whole of a large one.
 *
 * What is not settled is few, and found by itself. A key that begins with the wanted text is found by the primary
 * key; in one condition with the principal, it would not be.
 */
export function listStatement(filter: KeyFilter): { text: string; values: unknown[] } {
  const { state, operation, search, stuck, stuckAfterMs = 60_000, sort = 'newest', limit, offset } = filter;
  const values: unknown[] = [];
  const given = (value: unknown) => `$${values.push(value)}`;
  const order = ORDERS[sort];
  const walked = `(SELECT * FROM idempotency_keys ORDER BY ${order} LIMIT ${FAR}) AS walked`;

  const where: string[] = [];
  if (state) where.push(`state = ${given(state)}`);
  if (operation) where.push(`operation = ${given(operation)}`);
  if (stuck) where.push(isStuck(given(stuckAfterMs)));
  // One row more than asked for tells whether there is a next page, without counting all of them.
  const page = `LIMIT ${given(limit)}::int + 1 OFFSET ${given(offset)}::int`;
  const from = (table: string, ...more: string[]) => {
    const conditions = [...where, ...more];
    return `FROM ${table}${conditions.length > 0 ? ` WHERE ${conditions.join(' AND ')}` : ''}`;
  };

  const isOpen = stuck || state === 'in_progress' || state === 'unknown';
  if (!search) {
    const rows = isOpen ? from(UNFINISHED_KEYS) : from(walked);
    return { text: `SELECT ${COLUMNS} ${rows} ORDER BY ${order} ${page}`, values };
  }
  const [text, end] = [given(search), given(`${search}\u{10FFFF}`)];
  const byKey = `key >= ${text} AND key < ${end}`;
  const byPrincipal = `starts_with(principal, ${text})`;
  if (isOpen) {
    const rows = from(UNFINISHED_KEYS, `(${byKey} OR ${byPrincipal})`);
    return { text: `SELECT ${COLUMNS} ${rows} ORDER BY ${order} ${page}`, values };
  }
  const enough = `ORDER BY ${order} LIMIT ${given(limit + offset + 1)}::int`;
  const found = `(SELECT * ${from('idempotency_keys', byKey)} ${enough})
    UNION ALL (SELECT * ${from(walked, byPrincipal, `NOT (${byKey})`)} ${enough})`;
  return { text: `SELECT ${COLUMNS} FROM (${found}) AS found ORDER BY ${order} ${page}`, values };
}

function listed(raw: RawRow): ListedKey {
  const { result: _, fingerprint: __, ...row } = toKeyRow(raw);
  return row;
}
