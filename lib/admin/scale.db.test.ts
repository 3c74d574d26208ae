import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { KEY_STATES } from '../core/key-state.ts';
import type { KeyFilter } from '../store/oversight.ts';
import { listStatement } from '../store/prisma/keys/list.ts';
import { overview } from '../store/prisma/keys/overview.ts';
import { REAP } from '../store/prisma/keys/reap.ts';
import { prismaStore } from '../store/prisma/store.ts';
import { type Admin, createAdmin } from './index.ts';

const KEYS = 100_000;

let database: TestDatabase;
let admin: Admin;
beforeAll(async () => {
  database = await testDatabase();
  admin = createAdmin({ prisma: database.client });
  await fill();
});
afterAll(() => database?.drop());

/** A month of a shop: nearly all is settled, some is refused, ten need a person, little is given up, and one in a hundred is open. */
async function fill() {
  await database.client.$executeRaw`
    INSERT INTO idempotency_keys
      (tenant, principal, operation, key, state, fingerprint, result, claimed_at, settled_at, expires_at, lease_until,
       next_attempt_at, needs_attention)
    SELECT 'acme', 'user-' || n % 5000, (ARRAY['checkout', 'refund', 'orders.create'])[n % 3 + 1],
           '0193' || lpad(to_hex(n), 8, '0') || '-key', state, sha256(n::text::bytea),
           CASE WHEN state IN ('succeeded', 'failed') THEN repeat('answer', 30) END,
           at, CASE WHEN is_open THEN NULL ELSE at END, at + interval '31 days',
           CASE WHEN state = 'in_progress' THEN now() + (n % 2000 - 1000) * interval '1 min' END,
           CASE WHEN is_open AND n % 700 <> 0 THEN now() END, (is_open AND n % 700 = 0) OR n % 10000 = 1
      FROM generate_series(1, ${KEYS}::int) n,
           LATERAL (SELECT CASE WHEN n % 100 = 0 THEN CASE WHEN n % 200 = 0 THEN 'unknown' ELSE 'in_progress' END
                                WHEN n % 50 = 1 THEN 'failed' WHEN n % 5000 = 2 THEN 'abandoned'
                                ELSE 'succeeded' END AS state) s,
           LATERAL (SELECT state IN ('in_progress', 'unknown') AS is_open,
                           now() - (${KEYS}::int - n) * interval '25 s' AS at) o`;
  await database.client.$executeRaw`ANALYZE idempotency_keys`;
}

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  Plans?: Plan[];
}

/** How PostgreSQL goes through the keys for a filter: `Index Scan idempotency_keys_pkey`. */
const waysOf = (filter: KeyFilter) => waysOfStatement(listStatement(filter));

async function waysOfStatement({ text, values }: { text: string; values: unknown[] }): Promise<string[]> {
  const [row] = await database.client.$queryRawUnsafe<[{ 'QUERY PLAN': [{ Plan: Plan }] }]>(
    `EXPLAIN (FORMAT JSON) ${text}`,
    ...values,
  );
  const nodes = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodes)];
  return nodes(row['QUERY PLAN'][0].Plan)
    .filter((node) => node['Node Type'] !== 'ModifyTable')
    .filter((node) => node['Relation Name'] === 'idempotency_keys' || node['Index Name'])
    .map((node) => `${node['Node Type']} ${node['Index Name'] ?? ''}`.trim());
}

const SORTS = ['newest', 'oldest', 'expires'] as const;
const FILTERS: Partial<KeyFilter>[] = [
  {},
  ...KEY_STATES.map((state) => ({ state })),
  { stuck: true },
  { stuck: true, operation: 'refund' },
  { stuck: true, state: 'failed' },
  { operation: 'checkout' },
  { operation: 'none' },
  { state: 'abandoned', operation: 'refund' },
  { search: '01930001' },
  { search: '0193000186a0-key' },
  { search: '0' },
  { search: 'user-42' },
  { search: 'nobody' },
  { search: 'cart-42' },
  { search: 'user-4', state: 'failed' },
  { search: 'user-4', stuck: true },
  { principal: 'user-42' },
  { thing: 'cart-42' },
  { claimedSince: new Date(Date.now() - 86_400_000), state: 'failed' },
  { search: 'order-1', also: [{ tenant: 'acme', principal: 'user-42', operation: 'checkout', key: 'none' }] },
];
const PAGES = [0, 5000, 99_975];

test.each(FILTERS)('X4 100,000 keys: %o goes along an index in every order, on every page', async (filter) => {
  for (const sort of SORTS) {
    for (const offset of PAGES) {
      const ways = await waysOf({ ...filter, sort, limit: 25, offset });
      expect(ways.length, JSON.stringify({ sort, offset })).toBeGreaterThan(0);
      for (const way of ways) expect(way, JSON.stringify({ sort, offset })).toMatch(/^(Bitmap )?(Index|Heap)/);
    }
  }
});

test('what is open is found by the index that holds nothing else, a key by the primary key', async () => {
  const open = ['Index Scan idempotency_keys_next_attempt_at_idx'];
  const page = { limit: 25, offset: 0 };
  const flagged = { stuck: true, state: 'failed' } as const;
  for (const filter of [{ stuck: true }, flagged, { state: 'in_progress' }, { state: 'unknown' }] as const) {
    expect((await waysOf({ ...filter, ...page })).map((way) => way.replace(/^Bitmap /, ''))).toEqual(
      expect.arrayContaining(open),
    );
  }
  expect(await waysOf({ search: '0193000186a0', ...page })).toContainEqual(
    expect.stringMatching(/Index Scan idempotency_keys_pkey/),
  );
});

test('each filter finds what it must: as many as there are, the last page too', async () => {
  const count = async (filter: Partial<KeyFilter>) => {
    const { rows } = await admin.listKeys({ ...filter, limit: KEYS, offset: 0 });
    return rows.length;
  };
  const { counts, stuck } = await admin.overview();
  const unsettled = (counts.in_progress ?? 0) + (counts.unknown ?? 0);
  expect([await count({ state: 'in_progress' }), await count({ state: 'unknown' })]).toEqual([500, 500]);
  expect([await count({ state: 'failed' }), await count({ state: 'abandoned' })]).toEqual([2000, 20]);
  expect(counts).toEqual({ in_progress: 500, unknown: 500, failed: 2000, abandoned: 20, succeeded: 96_980 });
  expect(await count({ stuck: true })).toBe(stuck);
  expect(await count({ stuck: true, state: 'failed' })).toBe(10);
  expect([unsettled, stuck]).toEqual([1000, 1009]); // the newest is not a minute old, and nobody has given it up
  expect([await count({ search: 'user-42' }), await count({ search: '0193000186' })]).toEqual([2220, 161]);
  const last = await admin.listKeys({ limit: 25, offset: KEYS - 10 });
  expect([last.rows.length, last.hasMore]).toEqual([10, false]);
});

test('of more rows than are counted, PostgreSQL estimates what is settled, and says so', async () => {
  const exact = await overview(database.client, 60_000, undefined);
  const sample = { estimated: KEYS, sampled: KEYS / 10 };
  const estimated = await overview(database.client, 60_000, undefined, sample);
  expect([exact.isEstimated, estimated.isEstimated]).toEqual([false, true]);
  expect(estimated).toMatchObject({ stuck: exact.stuck, counts: { in_progress: 500, unknown: 500 } });
  const off = Math.abs((estimated.counts.succeeded ?? 0) - (exact.counts.succeeded ?? 0)) / KEYS;
  expect(off).toBeLessThan(0.02);
  expect(exact.storage?.rows).toBe(KEYS);
  expect(Math.abs((estimated.storage?.rows ?? 0) - KEYS) / KEYS).toBeLessThan(0.02);
  expect((exact.storage?.bytes ?? 0) / KEYS).toBeGreaterThan(100);
  expect((await overview(database.client, 60_000, 'acme', sample)).counts).toEqual(estimated.counts);
  expect((await overview(database.client, 60_000, 'globex', sample)).counts).toEqual({});
});

test('of a table with more rows than a search looks through, the page says so', async () => {
  const isCut = async (search?: string) => (await admin.listKeys({ search, limit: 1, offset: 0 })).isCut;
  expect(await isCut('user-42')).toBeUndefined();
  await database.client.$executeRaw`
    UPDATE pg_class SET reltuples = 1000001 WHERE oid = 'idempotency_phases'::regclass`;
  expect([await isCut('user-42'), await isCut()]).toEqual([true, undefined]);
});

test('of many rows, what is settled is not counted for each look; what is open is', async () => {
  const counted = {};
  const before = await overview(database.client, 60_000, undefined, { counted });
  await database.client.$executeRaw`
    DELETE FROM idempotency_keys WHERE key IN ('0193000003e8-key', '0193000003e9-key')`; // one unknown, one failed
  const after = await overview(database.client, 60_000, undefined, { counted });
  expect(after.counts).toEqual({ ...before.counts, unknown: 499 });
  const anew = await overview(database.client, 60_000, undefined, { counted, usedAgain: KEYS + 1 });
  expect(anew.counts).toEqual({ ...before.counts, unknown: 499, failed: 1999 });
});

test('a claim that was committed without its answer is found along an index, and for good once the reaper has seen it', async () => {
  const { client } = database;
  const insert = (key: string, days: number) => client.$executeRaw`
    INSERT INTO idempotency_keys (tenant, principal, operation, key, state, claimed_at, expires_at)
    VALUES ('acme', 'ann', 'checkout', ${key}, 'in_progress', now() - ${days}::int * interval '1 day',
            now() - interval '1 hour')`;
  const unanswered = async () => {
    const { rows } = await admin.listKeys({ stuck: true, search: 'stray', limit: 25, offset: 0 });
    return rows.map(({ key }) => key).sort();
  };
  for (const key of ['stray-1', 'stray-2', 'stray-3']) await insert(key, 1);
  await insert('stray-old', 60); // more claims came since than are looked through
  expect(await unanswered()).toEqual(['stray-1', 'stray-2', 'stray-3']);
  expect(await waysOf({ stuck: true, limit: 25, offset: 0 })).toContain('Index Scan idempotency_keys_claimed_at_idx');
  await prismaStore(client).reapKeys(1000);
  expect(await unanswered()).toEqual(['stray-1', 'stray-2', 'stray-3', 'stray-old']);
  await client.$executeRaw`DELETE FROM idempotency_keys WHERE starts_with(key, 'stray')`;
});

test('P5 the reaper chooses a batch along the index of expiries, and deletes it along the primary key', async () => {
  await database.client.$executeRaw`
    UPDATE idempotency_keys SET expires_at = claimed_at WHERE claimed_at < now() - interval '15 days'`;
  await database.client.$executeRaw`ANALYZE idempotency_keys`;
  for (const limit of [20, 1000]) {
    for (const start of [null, Date.now() / 1000 - 20 * 24 * 3600]) {
      const ways = await waysOfStatement({ text: REAP, values: [limit, start] });
      expect(ways.filter((way) => way.includes('idempotency_keys')).sort()).toEqual([
        'Index Scan idempotency_keys_expires_at_idx',
        'Index Scan idempotency_keys_pkey',
      ]);
    }
  }
});
