import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../../../scripts/testing/test-database.ts';
import { TABLES } from '../../store/prisma/tables.ts';
import { checkRole } from './client.ts';

let database: TestDatabase;
let sql: pg.Client;
const role = `app_${process.pid}`;
beforeAll(async () => {
  database = await testDatabase();
  sql = new pg.Client({ connectionString: database.url });
  await sql.connect();
  await sql.query(`CREATE ROLE ${role}; CREATE ROLE ${role}_owners ROLE ${role}`);
});
afterAll(async () => {
  await sql.query(`RESET ROLE; REASSIGN OWNED BY ${role}_owners TO CURRENT_USER; DROP ROLE ${role}, ${role}_owners`);
  await sql.end();
  await database.drop();
});

/** As seen by whoever reaches the server over a network, or at the server's own machine. */
const look = (host = 'db.example.com') => checkRole({ host, query: sql.query.bind(sql) } as pg.Client, TABLES);

const can = 'whoever gets hold of its connection can drop the triggers, and change what people did.';

test('a superuser is named, and where the database is on this machine it is no warning', async () => {
  const { rows } = await sql.query('SELECT quote_ident(current_user) AS "user"');
  const fix = expect.stringContaining('a role that owns nothing');
  const says = `${rows[0].user} is a superuser: ${can}`;
  expect(await look()).toEqual([{ check: 'Role', level: 'warning', says, fix }]);
  expect(await look('127.0.0.1')).toMatchObject([{ level: 'ok', says: expect.stringContaining(can) }]);
});

test('an owner is told from a role that owns nothing, also one by membership', async () => {
  const own = (table: string) =>
    sql.query(`RESET ROLE; ALTER TABLE ${table} OWNER TO ${role}_owners; SET ROLE ${role}`);
  await sql.query(`SET ROLE ${role}`);
  expect(await look()).toMatchObject([{ level: 'ok', says: expect.stringMatching(/^app_\d+ owns none/) }]);
  await own('idempotency_audit');
  expect(await look()).toMatchObject([{ level: 'warning', says: `${role} owns idempotency_audit: ${can}` }]);
  await own('message_events');
  expect(await look()).toMatchObject([{ says: `${role} owns idempotency_audit and 1 more: ${can}` }]);
});
