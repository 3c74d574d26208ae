import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../../../scripts/testing/test-database.ts';
import { renamerOf, TABLES } from '../../store/prisma/tables.ts';
import { checkTables } from './tables.ts';

// Each way in which tables can be broken, with what mends it: broken-database.db.test.ts, in `npm run test:doctor`.

let database: TestDatabase;
let sql: pg.Client;
beforeAll(async () => {
  database = await testDatabase({ ownsTables: true });
  sql = new pg.Client({ connectionString: database.url });
  await sql.connect();
});
afterAll(async () => {
  await sql?.end();
  await database?.drop();
});

const look = (rename?: ReturnType<typeof renamerOf>) => checkTables(sql, TABLES, rename);
const ALL_THERE = [{ check: 'Tables', level: 'ok' }];

async function findsAndMends(says: string, rename?: ReturnType<typeof renamerOf>) {
  const [found, ...others] = await look(rename);
  expect(found).toMatchObject({ level: 'problem', says: expect.stringContaining(says) });
  expect(others).toEqual([]);
  await sql.query(found?.fix as string);
  expect(await look(rename)).toMatchObject(ALL_THERE);
}

test('a trigger of another condition', async () => {
  expect(await look()).toMatchObject(ALL_THERE);
  await sql.query(`CREATE OR REPLACE TRIGGER idempotency_audit_kept BEFORE DELETE ON idempotency_audit
    FOR EACH ROW WHEN (false) EXECUTE FUNCTION oncekit_append_only()`);
  await findsAndMends("The trigger idempotency_audit_kept of idempotency_audit is not the kit's");
  const { rows } = await sql.query('SELECT relname FROM pg_class WHERE relpersistence = $1', ['t']);
  expect(rows).toEqual([]);
});

test('a function without its search_path', async () => {
  await sql.query('ALTER FUNCTION oncekit_step_rules() RESET search_path');
  await findsAndMends('idempotency_phases_rules of idempotency_phases has not pg_catalog, pg_temp for search_path');
});

test('a function of four triggers that does something else, and then lacks its search_path', async () => {
  const which = 'The function of the trigger idempotency_audit_unchanged of idempotency_audit, and of 3 more,';
  await sql.query(
    "CREATE OR REPLACE FUNCTION oncekit_append_only() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
  );
  await findsAndMends(`${which} is not the kit's.`);
  await sql.query('ALTER FUNCTION oncekit_append_only() RESET search_path');
  await findsAndMends(`${which} has not pg_catalog, pg_temp for search_path`);
});

test('a trigger of tables of other names', async () => {
  await sql.query(`CREATE SCHEMA billing; ALTER TABLE message_events RENAME TO "Records";
    ALTER TABLE "Records" SET SCHEMA billing`);
  const rest = TABLES.filter((name) => name !== 'message_events');
  await sql.query(rest.map((name) => `ALTER TABLE ${name} SET SCHEMA billing`).join(';'));
  await sql.query('ALTER TABLE billing.idempotency_phases RENAME TO steps');
  await sql.query('ALTER TABLE billing.idempotency_things RENAME TO "Things"');
  const own = { idempotency_phases: 'steps', idempotency_things: 'Things' };
  const rename = renamerOf({ schema: 'billing', message_events: 'Records', ...own });
  for (const name of ['rules', 'deleted', 'truncated', 'thing', 'things_deleted', 'things_truncated']) {
    const [found] = await look(rename);
    expect(found?.says).toContain(`The trigger idempotency_keys_${name} of billing.idempotency_keys is not the kit's`);
    await sql.query(found?.fix as string);
  }
  expect(await look(rename)).toMatchObject(ALL_THERE);
  await sql.query(`CREATE OR REPLACE TRIGGER message_events_kept BEFORE DELETE ON billing."Records"
    FOR EACH ROW WHEN (OLD.type = 'skipped') EXECUTE FUNCTION oncekit_append_only()`);
  await findsAndMends('The trigger message_events_kept of billing."Records" is not the kit\'s', rename);
});
