import type { KeyFilter, ListedKey, Oversight } from '../../oversight.ts';
import type { Asked } from '../db.ts';
import { KEY_COLUMNS, type RawRow, toKeyRow } from './read.ts';

/**
 * True of every committed row that the completer or a person is to look at. The condition of the partial
 * index `idempotency_keys_next_attempt_at_idx`, to the letter: with it, the few such rows are found among millions.
 */
const IS_INDEXED = '(next_attempt_at IS NOT NULL OR needs_attention)';

/** A claim in one transaction, committed without its answer: nothing but its state tells it from a settled row. */
export const IS_UNANSWERED = `settled_at IS NULL AND NOT ${IS_INDEXED}`;

/** How many of the newest claims are looked through for unanswered ones, which no index holds: some 30 ms. */
const NEWEST = 100_000;

/**
 * Every committed row that is not settled, whatever its lease says, or that is settled and flagged for a person. An index
 * of the unsettled states would cost each claim an entry, and each completion its place on the page, so an unanswered one is
 * looked for among the newest claims. The reaper flags those that it sees there, and all whose retention is over, and so puts
 * them into the index (`reap.ts`).
 */
export const OPEN_KEYS = `(
  SELECT * FROM idempotency_keys WHERE ${IS_INDEXED}
  UNION ALL
  SELECT * FROM (SELECT * FROM idempotency_keys ORDER BY claimed_at DESC LIMIT ${NEWEST}) AS newest
   WHERE ${IS_UNANSWERED}) AS open`;

/** Of an open row: no completer will come for it. */
export const WAITS_FOR_PERSON = `(next_attempt_at IS NULL OR (state = 'in_progress' AND lease_until IS NULL))`;

/**
 * True of the open rows that a person on call looks for: flagged, or the executor is gone, or has had long.
 *
 * @param ms the parameter that says how many milliseconds after its claim a key is old
 */
export function isStuck(ms: string): string {
  return `(needs_attention OR ${WAITS_FOR_PERSON} OR lease_until <= statement_timestamp()
    OR claimed_at <= statement_timestamp() - ${ms}::float8 * interval '1 ms')`;
}

/**
 * True of unfinished keys whose operation no worker runs. A completer moves a key's `next_attempt_at` on before anything else.
 * So a key that was due long ago has no completer, or waits behind others of its operation: then a completer has taken one of
 * those, which alone raises `attempts` above the claim's 1. Calls of clients do not count, for they go on where no worker
 * knows the operation.
 *
 * @param ms the parameter, or the number, that says how many milliseconds ago it was due: `NO_WORKER_AFTER_MS`
 */
export function hasNoWorker(ms: string): string {
  const longAgo = `statement_timestamp() - ${ms}::float8 * interval '1 ms'`;
  return `next_attempt_at <= ${longAgo} AND (state = 'unknown' OR lease_until <= statement_timestamp())
     AND operation NOT IN (SELECT operation FROM idempotency_keys WHERE next_attempt_at > ${longAgo} AND attempts > 1)`;
}

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

const HOLDERS = 'idempotency_things AS held JOIN idempotency_keys USING (tenant, principal, operation, key)';

// A stored answer may have 256 KiB, and no list shows it: of a refusal its code alone.
const COLUMNS = `${KEY_COLUMNS.replace(/\bresult\b/, 'NULL AS result').replace(/\bfingerprint\b/, 'NULL AS fingerprint')}, thing,
  CASE WHEN state = 'failed' THEN substring(left(result, 300) FROM '^[^}]+\\},"refusal","([^"]+)"') END AS reason,
  (SELECT string_agg(reference, ', ' ORDER BY position)
     FROM (SELECT tenant AS t, principal AS p, operation AS o, key AS k, position, reference FROM idempotency_phases) AS call
    WHERE (t, p, o, k) = (tenant, principal, operation, key)) AS reference`;

/** Key rows in the wanted order, a page of them. */
const list: Asked<Oversight, 'list'> = async (db, filter) => {
  const { text, values } = listStatement(filter);
  const rows = await db.$queryRawUnsafe<ListedRow[]>(text, ...values);
  const page = { rows: rows.slice(0, filter.limit).map(toListedKey), hasMore: rows.length > filter.limit };
  const { tenant, operation, thing, search, offset } = filter;
  const [begin, end] = thing ? [thing, thing] : [search, `${search}\u{10FFFF}`];
  if (!begin || offset > 0) return page;
  const heldForever = await db.$queryRawUnsafe<[]>(HELD_FOREVER, begin, end, tenant ?? null, operation ?? null);
  const [cut] = search ? await db.$queryRawUnsafe<unknown[]>(CUT, FAR) : [];
  return { ...page, ...(heldForever.length > 0 && { heldForever }), ...(cut ? { isCut: true } : {}) };
};

const CUT = `
SELECT FROM pg_class WHERE reltuples > $1::float8
   AND oid IN ('idempotency_keys'::regclass, 'idempotency_phases'::regclass, 'idempotency_events'::regclass) LIMIT 1`;

const HELD_FOREVER = `
SELECT tenant, operation, thing FROM idempotency_things
 WHERE thing >= $1 AND thing <= $2 AND key IS NULL
   AND ($3::text IS NULL OR tenant = $3) AND ($4::text IS NULL OR operation = $4)
 ORDER BY thing, operation, tenant LIMIT 25`;

/**
 * No index knows the settled states: one that did would have to be written by every completion. So a filter goes along
 * the index that has the wanted order, and stops when the page is full. The bound keeps PostgreSQL from sorting the whole
 * table where it expects to find little, and a person from waiting for the whole of a large one.
 *
 * Open keys are few, and found by an index of their own. A key that begins with the wanted text is found by the primary
 * key, and a thing by that of things; in one condition with the rest, they would not be. Of calls, no index knows more than
 * their keys: a million of them are looked through.
 */
export function listStatement(filter: KeyFilter): { text: string; values: unknown[] } {
  const { state, search, stuck, stuckAfterMs = 60_000, sort = 'newest', limit, offset } = filter;
  const { claimedSince, claimedBefore } = filter;
  const values: unknown[] = [];
  const given = (value: unknown) => `$${values.push(value)}`;
  const order = ORDERS[sort];

  const when: string[] = [];
  const at = (time: Date) => `to_timestamp(${given(time.getTime() / 1000)}::float8)`;
  if (claimedSince) when.push(`claimed_at >= ${at(claimedSince)}`);
  if (claimedBefore) when.push(`claimed_at < ${at(claimedBefore)}`);
  const where = [...when];
  for (const name of ['tenant', 'principal', 'operation', 'key', 'thing', 'state'] as const)
    if (filter[name]) where.push(`${name} = ${given(filter[name])}`);
  if (stuck) where.push(isStuck(given(stuckAfterMs)));
  // One row more than asked for tells whether there is a next page, without counting all of them.
  const page = `LIMIT ${given(limit)}::int + 1 OFFSET ${given(offset)}::int`;
  const and = (conditions: readonly string[]) => (conditions.length > 0 ? ` WHERE ${conditions.join(' AND ')}` : '');
  const from = (table: string, ...more: string[]) => `FROM ${table}${and([...where, ...more])}`;
  const isByClaim = sort !== 'expires';
  const walked = `(SELECT * FROM idempotency_keys${and(isByClaim ? when : [])} ORDER BY ${order} LIMIT ${FAR}) AS walked`;

  const pageOf = (rows: string) => ({ text: `SELECT ${COLUMNS} ${rows} ORDER BY ${order} ${page}`, values });

  const isOpen = stuck || state === 'in_progress' || state === 'unknown';
  const holders = (condition: string) => `(SELECT idempotency_keys.* FROM ${HOLDERS} WHERE ${condition}) AS holders`;
  const { thing, key } = filter;
  const all = thing ? holders(`held.thing = ${given(thing)}`) : key ? 'idempotency_keys' : walked;
  if (!search) return pageOf(from(isOpen ? OPEN_KEYS : all));
  const [text, end] = [given(search), given(`${search}\u{10FFFF}`)];
  const begins = (column: string) => `${column} >= ${text} AND ${column} < ${end}`;
  const isWithin = (column: string) => `strpos(${column}, ${text}) > 0`;
  const isSaid =
    search.length < SHORTEST
      ? `starts_with(principal, ${text})`
      : `(${['key', 'principal', 'thing'].map(isWithin).join(' OR ')})`;
  const named = namedBy(filter, given, search.length < SHORTEST ? undefined : isWithin);
  const isNamed = named && `(${ID}) IN (${named})`;
  if (isOpen) {
    const any = [`(${begins('key')})`, `(${begins('thing')})`, isSaid, isNamed].filter(Boolean).join(' OR ');
    return pageOf(from(OPEN_KEYS, `(${any})`));
  }
  const enough = `ORDER BY ${order} LIMIT ${given(limit + offset + 1)}::int`;
  const [byKey, byThing] = [`NOT (${begins('key')})`, `(${begins('thing')}) IS NOT TRUE`];
  const found = [
    from('idempotency_keys', begins('key')),
    from(holders(begins('held.thing')), byKey),
    from(walked, isSaid, byKey, byThing),
  ];
  const known = `(SELECT idempotency_keys.* FROM (${named}) AS named JOIN idempotency_keys USING (${ID})) AS known`;
  if (named) found.push(from(known, byKey, byThing, `(${isSaid}) IS NOT TRUE`));
  return pageOf(`FROM (${found.map((rows) => `(SELECT * ${rows} ${enough})`).join(' UNION ALL ')}) AS found`);
}

const ID = 'tenant, principal, operation, key';

/** From how many characters on a text is looked for inside of others, too. */
const SHORTEST = 3;
/** How many keys others may name: they are looked up one by one. */
const MOST_NAMED = 100;

/** The keys that are given, and those whose calls, or what was heard of them, hold the text. */
function namedBy(
  { also = [], tenant }: KeyFilter,
  given: (value: unknown) => string,
  isWithin: ((column: string) => string) | undefined,
): string | undefined {
  const parts: string[] = [];
  if (also.length > 0) {
    const columns = (['tenant', 'principal', 'operation', 'key'] as const).map((name) => also.map((id) => id[name]));
    parts.push(`SELECT ${ID} FROM unnest(${columns.map((column) => `${given(column)}::text[]`)}) AS given(${ID})`);
  }
  if (isWithin) {
    // Those of others do not count against the hundred.
    const own = tenant ? `tenant = ${given(tenant)} AND ` : '';
    parts.push(`SELECT ${ID} FROM (SELECT * FROM idempotency_phases LIMIT ${FAR}) AS calls
                 WHERE ${own}(${isWithin('derived_key')} OR ${isWithin('reference')})`);
    parts.push(`SELECT ${ID} FROM (SELECT * FROM idempotency_events ORDER BY id DESC LIMIT ${FAR}) AS happened
                 WHERE ${own}${isWithin(`concat_ws(' ', detail ->> 'said', detail ->> 'reference')`)}`);
  }
  if (parts.length === 0) return undefined;
  return `SELECT * FROM (${parts.join(' UNION ')}) AS ids LIMIT ${MOST_NAMED}`;
}

type ListedRow = RawRow & Pick<ListedKey, 'thing' | 'reason' | 'reference'>;

function toListedKey(raw: ListedRow): ListedKey {
  const { result: _, fingerprint: __, ...row } = toKeyRow(raw);
  return { ...row, thing: raw.thing, reason: raw.reason, reference: raw.reference };
}

/** How many keys one look flags at most: the next one goes on. */
const MOST = 1000;

const IS_DOUBTFUL = `EXISTS (
    SELECT FROM idempotency_phases AS p
     WHERE p.tenant = k.tenant AND p.principal = k.principal AND p.operation = k.operation AND p.key = k.key
       AND p.sends > p.not_executed)`;

// FOR UPDATE SKIP LOCKED: two workers flag a key once, and neither waits for an executor. The lock re-checks the row on its
// newest version, so a key that was taken over a moment ago stays as it is.
const FLAG_UNLISTED = `
WITH unlisted AS MATERIALIZED (
  SELECT tenant, principal, operation, key, next_attempt_at, ${IS_DOUBTFUL} AS is_doubtful
    FROM idempotency_keys AS k
   WHERE operation <> ALL ($1::text[]) AND ${hasNoWorker('$2')}),
chosen AS MATERIALIZED (
  SELECT tenant, principal, operation, key FROM idempotency_keys
   WHERE (tenant, principal, operation, key, next_attempt_at) IN (
           SELECT tenant, principal, operation, key, next_attempt_at FROM unlisted WHERE is_doubtful)
     AND next_attempt_at <= statement_timestamp() AND NOT needs_attention
   LIMIT ${MOST} FOR UPDATE SKIP LOCKED),
flagged AS (
  UPDATE idempotency_keys SET needs_attention = true
   WHERE (tenant, principal, operation, key) IN (SELECT tenant, principal, operation, key FROM chosen)
  RETURNING tenant, principal, operation, key),
noted AS (
  INSERT INTO idempotency_events (tenant, principal, operation, key, type, actor, detail)
  SELECT tenant, principal, operation, key, 'needs_attention', 'completer', jsonb_build_object('why', $3::text) FROM flagged)
SELECT operation, count(*)::int AS count, count(*) FILTER (WHERE is_doubtful)::int AS doubtful,
       (array_agg(key ORDER BY next_attempt_at))[1] AS "oldestKey"
  FROM unlisted GROUP BY operation`;

const flagUnlisted: Asked<Oversight, 'flagUnlisted'> = async (db, listed, { overdueMs, why }) =>
  await db.$queryRawUnsafe(FLAG_UNLISTED, listed, overdueMs, why);

export const listQuestions = { list, flagUnlisted };
