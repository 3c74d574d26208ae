import { PrismaPg as PlainPg } from '@prisma/adapter-pg';
import { createIdempotency } from 'oncekit';
import { PrismaPg } from 'oncekit/adapter-pg';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { type TestDatabase, testDatabase } from '../../../scripts/testing/test-database.ts';
import { type Client, createClient } from '../../../shop/db.ts';
import { grantsTo, TABLES } from '../../store/prisma/tables.ts';
import { folders, ready } from '../app/app.fixture.ts';
import { examine } from './doctor.ts';

// Doctor's own connection may do what the app's client may not, or be elsewhere. Each fix is run as it stands there, on a
// connection of its own. Apps that are broken in other ways: broken-app.db.test.ts.

const made = folders();
let database: TestDatabase;
let sql: pg.Client;
const role = `doctor_${process.pid}`;
beforeAll(async () => {
  database = await testDatabase();
  sql = new pg.Client({ connectionString: database.url });
  await sql.connect();
  await sql.query(`CREATE ROLE ${role} LOGIN PASSWORD '${role}'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role};
    GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO ${role}`);
});
afterAll(async () => {
  made.remove();
  await sql?.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  await sql?.end();
  await database?.drop();
});
afterEach(() => vi.unstubAllEnvs());

const nameOf = ({ url }: TestDatabase) => new URL(url).pathname.slice(1);

/** Doctor's findings about an app whose client, and whose DATABASE_URL unless another is given, is this. */
async function lookThrough(url: string, databaseUrl = url) {
  const client = createClient(url, { max: 2 });
  return await lookAt(client, client, { databaseUrl });
}

/** @param base is ended */
async function lookAt(
  prisma: object,
  base: Client,
  { databaseUrl = database.url, ...how }: { databaseUrl?: string; transaction?: 'interactive' } = {},
) {
  vi.stubEnv('IDEMPOTENCY_SECRET', 'a-secret-that-is-long-enough-for-it');
  vi.stubEnv('CRON_SECRET', 'another-one-that-is-long-enough');
  vi.stubEnv('DIRECT_URL', '');
  vi.stubEnv('DATABASE_URL', databaseUrl);
  try {
    const secret = [process.env.IDEMPOTENCY_SECRET];
    const idempotency = createIdempotency({ prisma: prisma as Client, secret, ...how });
    const app = { idempotency, outbox: undefined, inbox: undefined, operations: [{ name: 'checkout' }] };
    const findings = await examine(made.of(ready()), {}, async () => app);
    // The tests' own server skips the disk.
    return findings.filter(({ level, says }) => level !== 'ok' && !says.startsWith('fsync is off'));
  } finally {
    await base.$disconnect();
  }
}

const as = (role: string) => Object.assign(new URL(database.url), { username: role, password: role }).href;

/** The finding, then nothing once its fix was run as it stands there. */
async function findsAndMends(says: string, url: string) {
  const found = await lookThrough(url);
  expect(found).toEqual([{ check: 'Client', level: 'problem', says, fix: expect.any(String) }]);
  const mending = new pg.Client({ connectionString: database.url });
  await mending.connect();
  await mending.query(found[0]?.fix as string).finally(() => mending.end());
  expect(await lookThrough(url)).toEqual([]);
}

test.each([
  ['of the role', () => `ALTER ROLE ${role} SET default_transaction_read_only = on`],
  ['of the database', () => `ALTER DATABASE ${nameOf(database)} SET default_transaction_read_only = on`],
  ['of both', () => `ALTER ROLE ${role} IN DATABASE ${nameOf(database)} SET default_transaction_read_only = on`],
])('transactions that are read-only by default: a setting %s', async (_, statement) => {
  for (const grant of grantsTo(role)) await sql.query(grant); // no more than the guide's
  await sql.query(statement());
  await findsAndMends("The app's client may only read: its transactions are read-only by default.", as(role));
});

test('transactions that are read-only by the address', async () => {
  const url = `${database.url}?options=-c%20default_transaction_read_only%3Don`;
  expect(await lookThrough(url)).toMatchObject([
    { check: 'Client', fix: "Take default_transaction_read_only out of the connection's options." },
  ]);
});

test('another database than that of DATABASE_URL, and another schema of it', async () => {
  const fix = 'Give the client the same address: connectionString: process.env.DATABASE_URL.';
  const elsewhere = Object.assign(new URL(database.url), { pathname: '/postgres' }).href;
  const says = `The app's client is on the database postgres, and DATABASE_URL leads to ${nameOf(database)}.`;
  expect(await lookThrough(elsewhere, database.url)).toEqual([{ check: 'Client', level: 'problem', says, fix }]);
  await sql.query(
    'CREATE SCHEMA other; CREATE TABLE other.idempotency_keys (LIKE public.idempotency_keys INCLUDING ALL)',
  );
  try {
    const url = `${database.url}?options=-c%20search_path%3Dother,public`;
    expect(await lookThrough(url, database.url)).toMatchObject([{ check: 'Client', level: 'problem', fix }]);
  } finally {
    await sql.query('DROP SCHEMA other CASCADE');
  }
});

test('a client that reaches no database', async () => {
  const found = await lookThrough('postgresql://me:hunter2@127.0.0.1:1/shop', database.url);
  expect(found).toMatchObject([{ check: 'Client', level: 'problem', says: expect.stringContaining('gets no answer') }]);
  expect(JSON.stringify(found)).not.toContain('hunter2');
});

const rows = async () => (await sql.query('SELECT count(*)::int AS n FROM idempotency_keys')).rows[0].n;

describe('an extension that takes queries out of their transaction', () => {
  /** As Prisma's example of row-level security does. */
  const secured = (client: Client) => {
    type Asked = { args: object; query: (args: object) => Promise<unknown> };
    const setFirst = async ({ args, query }: Asked) =>
      (
        await client.$transaction([
          client.$executeRaw`SELECT set_config('app.tenant', 'acme', true)`,
          query(args) as never,
        ])
      )[1];
    return {
      'of models': client.$extends({ query: { $allModels: { $allOperations: setFirst } } } as object),
      'of everything': client.$extends({ query: { $allOperations: setFirst } } as object),
    };
  };
  const escaping = (what: string) => ({
    check: 'Client',
    level: 'problem',
    says: `An extension of the app's client takes queries out of their transaction. ${what}`,
    fix: expect.stringMatching(/^In the extension ask query\(args\).* outside\(\(\) => …\)\.$/),
  });
  const refused = (what: string) =>
    escaping(
      `${what} would not have been in the transaction of its execution, and would stay where that is rolled back.`,
    );

  test.each([
    ['of models', 'idempotencyKey.updateMany'],
    ['of everything', "A statement of the kit's"],
  ] as const)('%s: said on a pool of Prisma’s; on that of the kit it does not', async (which, what) => {
    const own = createClient(database.url, { max: 2 });
    expect(await lookAt(secured(own)[which], own)).toEqual([]);
    const plain = createClient(database.url, { adapter: new PlainPg(database.url) });
    expect(await lookAt(secured(plain)[which], plain, { transaction: 'interactive' })).toEqual([refused(what)]);
    expect(await rows()).toBe(0);
  });

  test('and commits what was to be rolled back: that is a rollback all the same', async () => {
    const client = createClient(database.url, { max: 2 });
    type Run = (tx: object) => Promise<unknown>;
    const swallowing = client.$extends({
      client: { $transaction: (run: Run) => client.$transaction((tx) => run(tx).catch(() => undefined)) },
    });
    const found = await lookAt(swallowing, client, { transaction: 'interactive' });
    expect(found).toEqual([]);
    expect(await rows()).toBe(0);
  });
});

test('what was tried leaves nothing behind', async () => {
  const before = await rows();
  expect(await createIdempotency({ prisma: database.client }).tryClaim()).not.toHaveProperty('refused');
  expect(await rows()).toBe(before);
});

test('tables in the schema of the adapter, into which DATABASE_URL does not look, and tables elsewhere', async () => {
  const move = (from: string, to: string) =>
    sql.query(TABLES.map((table) => `ALTER TABLE ${from}.${table} SET SCHEMA ${to}`).join(';'));
  const look = async () => {
    const client = createClient(database.url, { adapter: new PrismaPg(database.url, { schema: 'shop' }) });
    return await lookAt(client, client);
  };
  await sql.query('CREATE SCHEMA shop');
  expect(await look()).toEqual([
    {
      check: 'Migrations',
      level: 'problem',
      says: 'The table idempotency_keys is in the schema public, and the kit looks in shop.',
      fix: expect.stringMatching(/^Say tables: \{ schema: 'public' \} to createIdempotency.* package\.json/),
    },
  ]);
  await move('public', 'shop');
  try {
    expect(await look()).toEqual([]);
  } finally {
    await move('shop', 'public');
  }
});
