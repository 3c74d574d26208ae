import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../../../scripts/testing/test-database.ts';
import { markOf, SCHEMA_VERSIONS } from '../../store/prisma/keys/schema.ts';
import { TABLES_OF } from '../../store/prisma/tables.ts';
import type { SchemaPart } from '../../store/store.ts';
import { readKitFiles } from './kit-files.ts';

// The migrations of `npx oncekit init` must make the tables that the kit is tested on: the demo's tables, which came
// about by many migrations. The order of columns alone may differ.

const TABLES = ['idempotency_%', 'outbox_%', 'inbox_%', 'message_events'];

const CATALOGUE = `
WITH ours AS (
  SELECT oid, relname, reloptions, relpersistence FROM pg_class
   WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname LIKE ANY ($1))
SELECT relname || ': table ' || COALESCE(array_to_string(reloptions, ', '), '') || ' ' || relpersistence::text
       || COALESCE(' ' || obj_description(oid, 'pg_class'), '') AS line
  FROM ours
UNION ALL
SELECT relname || ': column ' || attname || ' ' || format_type(atttypid, atttypmod)
       || CASE WHEN attnotnull THEN ' not null' ELSE '' END || COALESCE(' default ' || pg_get_expr(adbin, adrelid), '')
       || COALESCE(' collate ' || collname, '')
  FROM ours JOIN pg_attribute ON attrelid = ours.oid AND attnum > 0 AND NOT attisdropped
  LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
  LEFT JOIN pg_collation c ON c.oid = attcollation
UNION ALL
SELECT relname || ': ' || conname || ' ' || pg_get_constraintdef(c.oid) || CASE WHEN convalidated THEN '' ELSE ' invalid' END
  FROM ours JOIN pg_constraint c ON conrelid = ours.oid
UNION ALL
SELECT tablename || ': ' || indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename LIKE ANY ($1)
UNION ALL
SELECT relname || ': ' || pg_get_triggerdef(t.oid) || ' ' || prosrc || COALESCE(' ' || array_to_string(proconfig, ', '), '')
  FROM ours JOIN pg_trigger t ON tgrelid = ours.oid AND NOT tgisinternal JOIN pg_proc ON pg_proc.oid = tgfoid`;

const { migrations } = readKitFiles();
let migrated: TestDatabase;
beforeAll(async () => {
  migrated = await testDatabase();
});
afterAll(() => migrated?.drop());

async function catalogue(url: string, before: readonly string[] = []): Promise<string[]> {
  const sql = new pg.Client({ connectionString: url });
  await sql.connect();
  try {
    for (const statement of before) await sql.query(statement);
    return (await sql.query(CATALOGUE, [TABLES])).rows.map(({ line }) => line).sort();
  } finally {
    await sql.end();
  }
}

/** A database that is empty, for one test. */
async function onEmpty(look: (url: string) => Promise<void>) {
  const empty = `${new URL(migrated.url).pathname.slice(1)}_kit`;
  await migrated.client.$executeRawUnsafe(`CREATE DATABASE ${empty} TEMPLATE template0`);
  try {
    await look(Object.assign(new URL(migrated.url), { pathname: empty }).href);
  } finally {
    await migrated.client.$executeRawUnsafe(`DROP DATABASE ${empty} WITH (FORCE)`);
  }
}

test('the SQL that users are given makes the tables that the demo has', async () => {
  await onEmpty(async (url) => {
    const ours = await catalogue(
      url,
      migrations.map(({ sql }) => sql),
    );
    expect(ours).toEqual(await catalogue(migrated.url));
    // Both, and not neither.
    for (const table of ['idempotency_tallies', 'message_events']) expect(ours.join('\n')).toContain(`${table}: table`);
    expect(ours.join('\n')).toMatch(/idempotency_audit: CREATE TRIGGER/);
  });
});

test('A7 an upgrade takes what people did so far out of the reach of the reaper, and leaves what machines noted', async () => {
  const keys = migrations.filter(({ part }) => part === 'keys').map(({ sql }) => sql);
  await onEmpty(async (url) => {
    const sql = new pg.Client({ connectionString: url });
    await sql.connect();
    const insert = `INSERT INTO idempotency_events (tenant, principal, operation, key, type, actor, detail, at)
                    SELECT 'a', 'ann', 'pay', 'k', type, actor, '{"with": "it"}', '2026-11-01T10:00Z'
                      FROM unnest($1::text[], $2::text[]) AS told(type, actor)`;
    const types = ['verdict', 'retry', 'released', 'forgotten', 'fenced', 'fenced', 'evidence', 'gave_up'];
    const actors = ['eve', 'eve', 'eve', 'eve', 'eve', 'client', 'stripe', 'executor'];
    try {
      await sql.query(keys[0] as string);
      await sql.query(insert, [types, actors]);
      for (const later of keys.slice(1)) await sql.query(later);
      const told = async (table: string) =>
        (await sql.query(`SELECT type, actor FROM ${table} ORDER BY id`)).rows.map(
          ({ type, actor }) => `${type} ${actor}`,
        );
      expect(await told('idempotency_audit')).toEqual(types.slice(0, 5).map((type) => `${type} eve`));
      expect(await told('idempotency_events')).toEqual(['fenced client', 'evidence stripe', 'gave_up executor']);
      const whole = `SELECT DISTINCT tenant, principal, operation, key, detail, at FROM idempotency_audit`;
      expect((await sql.query(whole)).rows).toEqual([
        {
          tenant: 'a',
          principal: 'ann',
          operation: 'pay',
          key: 'k',
          detail: { with: 'it' },
          at: new Date('2026-11-01T10:00Z'),
        },
      ]);
    } finally {
      await sql.end();
    }
  });
});

test('an upgrade from 2 keeps keys and their steps as they are, and from then on holds what the constraints held', async () => {
  const [before, [upgrade]] = [2, 3].map((version) =>
    migrations
      .filter((each) => each.part === 'keys' && (version === 2 ? each.version <= 2 : each.version === version))
      .map(({ sql }) => sql),
  ) as [string[], [string]];
  await onEmpty(async (url) => {
    const sql = new pg.Client({ connectionString: url });
    await sql.connect();
    const all = async () =>
      (
        await sql.query(`
          SELECT (SELECT json_agg(keys ORDER BY key) FROM idempotency_keys AS keys) AS keys,
                 (SELECT json_agg(steps ORDER BY key) FROM idempotency_phases AS steps) AS steps`)
      ).rows[0];
    try {
      for (const each of before) await sql.query(each);
      await sql.query(`
        INSERT INTO idempotency_keys (tenant, principal, operation, key, state, settled_at, expires_at, lease_until, input)
        SELECT 'a', 'ann', 'pay', state, state, CASE WHEN NOT is_open THEN now() END, now(),
               CASE WHEN state = 'in_progress' THEN now() END, CASE WHEN is_open THEN '1'::bytea END
          FROM unnest('{in_progress,succeeded,failed,unknown,abandoned}'::text[]) AS state,
               LATERAL (SELECT state IN ('in_progress', 'unknown')) AS about(is_open)`);
      await sql.query(`
        INSERT INTO idempotency_phases (tenant, principal, operation, key, name, position, kind, state, fencing_token)
        SELECT tenant, principal, operation, key, 'paid', 1, 'atomic', 'done', 1 FROM idempotency_keys`);
      const was = await all();
      await sql.query(upgrade);
      expect(await all()).toEqual(was);
      expect([was.keys.length, was.steps.length]).toEqual([5, 5]);

      const refused = { code: '23514', table: 'idempotency_keys' };
      const settle = (state: string) =>
        sql.query(`UPDATE idempotency_keys SET state = 'succeeded' WHERE key = $1`, [state]);
      for (const state of ['in_progress', 'unknown']) await expect(settle(state)).rejects.toMatchObject(refused);
      await sql.query(`DELETE FROM idempotency_keys WHERE key <> 'failed'`);
      expect((await all()).steps).toMatchObject([{ key: 'failed' }]);
    } finally {
      await sql.end();
    }
  });
});

test('A6 an upgrade from 3 keeps rows as they are, without a thing, and from then on a thing has one row', async () => {
  const ofKeys = migrations.filter(({ part }) => part === 'keys');
  const upgrade = ofKeys.find(({ version }) => version === 4)?.sql ?? '';
  const insert = (key: string, state: string, thing?: string) =>
    `INSERT INTO idempotency_keys (tenant, principal, operation, key, state, settled_at, expires_at${thing ? ', thing' : ''})
     VALUES ('a', 'ann', 'pay', '${key}', '${state}', ${state === 'in_progress' ? 'NULL' : 'now()'}, now()
             ${thing ? `, '${thing}'` : ''})`;
  await onEmpty(async (url) => {
    const sql = new pg.Client({ connectionString: url });
    await sql.connect();
    const all = async () => (await sql.query('SELECT * FROM idempotency_keys ORDER BY key')).rows;
    const things = async () => (await all()).map(({ key, thing }) => `${key} ${thing}`);
    try {
      for (const each of ofKeys.filter(({ version }) => version <= 3)) await sql.query(each.sql);
      for (const state of ['in_progress', 'succeeded', 'failed', 'abandoned']) await sql.query(insert(state, state));
      const was = await all();
      await sql.query(upgrade);
      expect(await all()).toEqual(was.map((row) => ({ ...row, thing: null })));
      await sql.query('DELETE FROM idempotency_keys');

      await sql.query(insert('k1', 'in_progress', 'cart'));
      await expect(sql.query(insert('k2', 'succeeded', 'cart'))).rejects.toMatchObject({
        code: '23505',
        constraint: 'idempotency_keys_thing_idx',
      });
      // A refusal and a tombstone hold nothing, whoever writes them.
      for (const state of ['failed', 'abandoned']) await sql.query(insert(state, state, 'cart'));
      await sql.query(`UPDATE idempotency_keys SET state = 'failed', settled_at = now() WHERE key = 'k1'`);
      await sql.query(insert('k3', 'succeeded', 'cart'));
      expect(await things()).toEqual(['abandoned null', 'failed null', 'k1 null', 'k3 cart']);
    } finally {
      await sql.end();
    }
  });
});

test.each<[SchemaPart, number, string]>([
  ['keys', 4, 'idempotency_keys'],
  ['messaging', 3, 'outbox_deliveries'],
])(
  'A6 the parts of a later version of %s may have been made before, beside the writers',
  async (part, version, table) => {
    const ofPart = migrations.filter((each) => each.part === part);
    await onEmpty(async (url) => {
      const sql = new pg.Client({ connectionString: url });
      await sql.connect();
      try {
        for (const each of ofPart.filter((each) => each.version < version)) await sql.query(each.sql);
        const guide = await readFile(new URL('../../../docs/upgrading.md', import.meta.url), 'utf8');
        const [, steps = ''] =
          new RegExp(`\`\`\`sql\n(ALTER TABLE ${table} ADD COLUMN IF[^\`]*)\`\`\``).exec(guide) ?? [];
        const parts = steps.split(';\n').map((each) => each.trim());
        const look = parts.pop()?.replace(/;? --.*/, '') ?? '';
        for (const step of parts) await sql.query(step);
        expect(Object.values((await sql.query(look)).rows[0])).toEqual([true]);
        for (const each of ofPart.filter((each) => each.version >= version)) await sql.query(each.sql);
      } finally {
        await sql.end();
      }
      const ofTable = (lines: string[]) => lines.filter((line) => line.startsWith(table));
      expect(ofTable(await catalogue(url))).toEqual(ofTable(await catalogue(migrated.url)));
    });
  },
);

test('A6 what a refusal holds, a change of its answer does not free; a key that goes takes its thing along', async () => {
  const ofKeys = migrations.filter(({ part }) => part === 'keys').map(({ sql }) => sql);
  await onEmpty(async (url) => {
    const sql = new pg.Client({ connectionString: url });
    await sql.connect();
    const refused = (executed: boolean) => JSON.stringify([{ executed: 1 }, executed]);
    const insert = (key: string) =>
      sql.query(
        `INSERT INTO idempotency_keys (tenant, principal, operation, key, state, settled_at, expires_at, thing, result)
         VALUES ('a', 'ann', 'pay', $1, 'failed', now(), now(), $1, $2)`,
        [key, refused(true)],
      );
    const things = async () =>
      (await sql.query('SELECT thing FROM idempotency_things ORDER BY thing')).rows.map(({ thing }) => thing);
    try {
      for (const each of ofKeys) await sql.query(each);
      for (const key of ['a', 'b', 'c']) await insert(key);
      await sql.query('UPDATE idempotency_keys SET result = $1', [refused(false)]);
      expect(await things()).toEqual(['a', 'b', 'c']);
      await sql.query('UPDATE idempotency_things SET is_forever = true WHERE thing = $1', ['b']);
      await sql.query(`DELETE FROM idempotency_keys WHERE key IN ('a', 'b')`);
      expect(await things()).toEqual(['b', 'c']);
      await expect(insert('b')).rejects.toMatchObject({ code: '23505', constraint: 'idempotency_things_pkey' });
      await sql.query('TRUNCATE idempotency_keys');
      expect(await things()).toEqual([]);
      await insert('a');
      await sql.query('TRUNCATE idempotency_keys, idempotency_phases, idempotency_things');
      expect(await things()).toEqual([]);
    } finally {
      await sql.end();
    }
  });
});

test.each(['keys', 'messaging'] satisfies SchemaPart[])(
  'the newest SQL of %s leads to the version that the kit needs',
  (part) => {
    const newest = migrations.findLast((each) => each.part === part);
    expect(newest?.version).toBe(SCHEMA_VERSIONS[part]);
    expect(newest?.sql).toContain(`COMMENT ON TABLE "${TABLES_OF[part][0]}" IS '${markOf(SCHEMA_VERSIONS[part])}'`);
  },
);
