import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../../../scripts/testing/test-database.ts';
import { readKitFiles } from '../init/kit-files.ts';
import { removalSql } from '../init/plan-migrations.ts';

const kit = readKitFiles();
const PARTS = ['keys', 'messaging'] as const;

let server: TestDatabase;
let sql: pg.Client;
let name: string;
beforeAll(async () => {
  server = await testDatabase();
  name = `${new URL(server.url).pathname.slice(1)}_removed`;
  await server.client.$executeRawUnsafe(`CREATE DATABASE ${name} TEMPLATE template0`);
  sql = new pg.Client({ connectionString: Object.assign(new URL(server.url), { pathname: name }).href });
  await sql.connect();
});
afterAll(async () => {
  await sql?.end();
  await server?.client.$executeRawUnsafe(`DROP DATABASE ${name} WITH (FORCE)`);
  await server?.drop();
});

/** Everything in the schema that somebody has made, and what the app has stored. */
const CATALOGUE = `
SELECT 'relation ' || relname || ' ' || relkind::text AS line FROM pg_class WHERE relnamespace = 'public'::regnamespace
UNION ALL SELECT 'function ' || proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
UNION ALL SELECT 'type ' || typname FROM pg_type WHERE typnamespace = 'public'::regnamespace
UNION ALL SELECT 'trigger ' || tgname FROM pg_trigger WHERE NOT tgisinternal
UNION ALL SELECT 'constraint ' || conname FROM pg_constraint WHERE connamespace = 'public'::regnamespace
UNION ALL SELECT 'comment ' || description FROM pg_description WHERE description LIKE '%oncekit%'`;
const found = async () => (await sql.query(CATALOGUE)).rows.map(({ line }) => line as string).sort();
const install = async (parts: readonly string[] = PARTS) => {
  for (const each of kit.migrations.filter(({ part }) => parts.includes(part))) await sql.query(each.sql);
};

test('the migration leaves nothing of the kit, and everything of the app', async () => {
  await sql.query(`
    CREATE TABLE orders (id INT PRIMARY KEY, note TEXT);
    CREATE INDEX orders_note_idx ON orders (note);
    CREATE FUNCTION mine() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
    CREATE TRIGGER orders_rules BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION mine();
    INSERT INTO orders VALUES (1, 'tea')`);
  const before = await found();
  await install();
  expect((await found()).length).toBeGreaterThan(before.length + 40);
  // Young records of the audit refuse to be deleted; dropping their table is another thing.
  await sql.query("INSERT INTO idempotency_audit (actor, type) VALUES ('ann', 'fenced')");
  await sql.query(removalSql(kit, PARTS));
  expect(await found()).toEqual(before);
  expect((await sql.query('SELECT * FROM orders')).rows).toEqual([{ id: 1, note: 'tea' }]);
  // Twice is once, and the kit can come back.
  await sql.query(removalSql(kit, PARTS));
  await install();
  await sql.query(removalSql(kit, PARTS));
  expect(await found()).toEqual(before);
});

test('an app without messaging keeps tables of its own that are called as those of messaging', async () => {
  await install(['keys']);
  await sql.query('CREATE TABLE outbox_events (id INT); INSERT INTO outbox_events VALUES (1)');
  await sql.query(removalSql(kit, ['keys']));
  expect((await sql.query('SELECT * FROM outbox_events')).rows).toEqual([{ id: 1 }]);
  await sql.query('DROP TABLE outbox_events');
});

test('what hangs on a table of the kit makes it fail, and nothing is dropped', async () => {
  await install();
  await sql.query('CREATE VIEW recent AS SELECT key FROM idempotency_keys');
  const before = await found();
  await expect(sql.query(removalSql(kit, PARTS))).rejects.toThrow(/other objects depend on it/);
  expect(await found()).toEqual(before);
  await sql.query('DROP VIEW recent');
});
