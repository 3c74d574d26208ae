import { createIdempotency } from 'oncekit';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { startPgBouncer } from '../../../scripts/services/pgbouncer.ts';
import { type TestDatabase, testDatabase } from '../../../scripts/testing/test-database.ts';
import { createClient } from '../../../shop/db.ts';
import { markOf, SCHEMA_VERSIONS } from '../../store/prisma/keys/schema.ts';
import { type Files, folders, ready } from '../app/app.fixture.ts';
import type { LoadedApp } from '../app/loader.ts';
import { CliError } from '../command.ts';
import { examine } from './doctor.ts';

// Issue 9, "Done when" 3. That the app is really loaded is held by oncekit.db.test.ts, in a process of its own.

const made = folders();
let database: TestDatabase;
let sql: pg.Client;
const SIGNING = 'a-secret-that-is-long-enough-for-it';
const OTHER = 'Vq3-Jt0Lr8_Yd2Wc6Hn1Pz9Xs4Bk7Fe5';
beforeAll(async () => {
  database = await testDatabase();
  sql = new pg.Client({ connectionString: database.url });
  await sql.connect();
});
afterAll(async () => {
  made.remove();
  await sql?.end();
  await database?.drop();
});
beforeEach(() => {
  vi.stubEnv('IDEMPOTENCY_SECRET', SIGNING);
  vi.stubEnv('CRON_SECRET', 'another-one-that-is-long-enough');
  vi.stubEnv('DATABASE_URL', database.url);
  vi.stubEnv('DIRECT_URL', '');
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

const idempotency = {
  completeDue: async () => ({ taken: 0, settled: 0, unknown: 0, unfinished: 0 }),
  reap: async () => 0,
  tryClaim: () => createIdempotency({ prisma: database.client }).tryClaim(),
};
const outbox = { destinations: ['crm'] } as never;
const loaded: LoadedApp = { idempotency, outbox: undefined, inbox: undefined, operations: [{ name: 'checkout' }] };

async function look(files: Files = ready(), app: LoadedApp | CliError = loaded) {
  const load = async () => {
    if (app instanceof CliError) throw app;
    return app;
  };
  const findings = await examine(made.of(files), {}, load);
  // The tests' own server skips the disk; `promises.db.test.ts` asks one that has a standby.
  return findings.filter(({ says }) => !says.startsWith('fsync is off'));
}

/** A worker of other operations, after its first passes. */
async function startElsewhere() {
  const prisma = createClient(database.url);
  const idempotency = createIdempotency({ prisma, onError: () => {} });
  idempotency.operation({ name: 'other', schema: z.any() }).phases(async () => null);
  // The first thing that a new connection is asked hides its first question.
  for (const _ of ['first', 'second']) await idempotency.completeDue();
  return () => prisma.$disconnect();
}

test('an app that is set up well has nothing to mend', async () => {
  const findings = await look();
  expect(findings.filter(({ level }) => level !== 'ok')).toEqual([]);
  expect(findings.map(({ check }) => check)).toEqual(
    'Database,Clock,Connections,TLS,Pooler,Migrations,Messaging,Tables,Role,Client,Transaction,Window,Worker,Secret,Cron secret,Scope,Operations,Status route,Cron route,Pages'.split(
      ',',
    ),
  );
});

test('a route may have an operation of one transaction under another name: no worker has to know it', async () => {
  const route = "export const POST = routeHandler(checkout.as('orders.create'));\n";
  const findings = await look({ ...ready(), 'app/api/orders/route.ts': route });
  expect(findings.filter(({ level }) => level !== 'ok')).toEqual([]);
});

interface Broken {
  of: string;
  env?: Record<string, string>;
  files?: (files: Files) => Files;
  app?: LoadedApp | CliError;
  sql?: [broken: string, mended: string];
  /** A worker is there, which has nothing to do. */
  isWorking?: true;
  /** How far ahead this machine's clock is. */
  ahead?: number;
  found: [check: string, level: 'problem' | 'warning', says: string, fix: string];
}

const key = (columns: string, values: string, age = '3 days') =>
  `INSERT INTO idempotency_keys (tenant, principal, operation, key, claimed_at, ${columns})
   VALUES ('a', 'b', 'checkout', 'k', now() - interval '${age}', ${values})`;
const overdue = (operation: string, isFlagged = 'false') =>
  `INSERT INTO idempotency_keys (tenant, principal, operation, key, state, expires_at, claimed_at, lease_until, next_attempt_at, needs_attention)
   VALUES ('a', 'b', '${operation}', 'k', 'in_progress', now(), now() - interval '2 days', now() - interval '2 days', now() - interval '2 days', ${isFlagged})`;
const gone = 'DELETE FROM idempotency_keys';
const say = (table: string, words: string) => `COMMENT ON TABLE ${table} IS ${words}`;
const isCurrent = say('idempotency_keys', `'${markOf(SCHEMA_VERSIONS.keys)}'`);

const cronOf = (driven: string) =>
  `export const { GET } = cronRoute(${driven}, { secret: process.env.CRON_SECRET });\n`;

const BROKEN: Broken[] = [
  {
    of: 'no DATABASE_URL',
    env: { DATABASE_URL: '' },
    found: ['Database', 'problem', 'DATABASE_URL is not set.', 'Add it to .env: DATABASE_URL="postgresql://'],
  },
  {
    of: 'the address of another database',
    env: { DATABASE_URL: 'mysql://me:hunter2@localhost/shop' },
    found: ['Database', 'problem', 'DATABASE_URL is no address of a PostgreSQL.', 'Write it so: '],
  },
  {
    of: 'an address whose password cuts it short',
    env: { DATABASE_URL: 'postgresql://me:12/hunter2@127.0.0.1:1/shop' },
    found: ['Database', 'problem', 'DATABASE_URL cannot be read', 'password % as %25, / as %2F'],
  },
  {
    of: 'a database that is away',
    env: { DATABASE_URL: 'postgresql://me:hunter2@127.0.0.1:1/shop' },
    found: ['Database', 'problem', 'No database answers at 127.0.0.1:1/shop', 'Start PostgreSQL'],
  },
  {
    of: 'a table that is missing',
    sql: ['ALTER TABLE idempotency_tallies RENAME TO away', 'ALTER TABLE away RENAME TO idempotency_tallies'],
    found: ['Migrations', 'problem', 'A table is missing: idempotency_tallies.', 'npx oncekit doctor --sql | '],
  },
  {
    of: 'tables that are in another schema',
    sql: [
      'CREATE SCHEMA shop; ALTER TABLE idempotency_events SET SCHEMA shop',
      'ALTER TABLE shop.idempotency_events SET SCHEMA public; DROP SCHEMA shop',
    ],
    found: [
      'Migrations',
      'problem',
      'idempotency_events is in the schema shop',
      'ALTER TABLE shop.idempotency_events SET',
    ],
  },
  {
    of: 'tables of `prisma db push`',
    sql: [say('idempotency_keys', 'NULL'), isCurrent],
    found: [
      'Migrations',
      'problem',
      "do not say that the kit's migration made them",
      'While nobody submits: DROP TABLE',
    ],
  },
  {
    of: 'tables of an older kit',
    sql: [say('idempotency_keys', "'oncekit schema 0'"), isCurrent],
    found: [
      'Migrations',
      'problem',
      `The tables are of version 0, and this kit needs ${SCHEMA_VERSIONS.keys}.`,
      'npx oncekit init',
    ],
  },
  {
    of: 'tables of a newer kit',
    sql: [say('idempotency_keys', "'oncekit schema 9'"), isCurrent],
    found: ['Migrations', 'warning', 'another deploy is newer', 'npm install oncekit@latest'],
  },
  {
    of: 'a clock that is wrong',
    ahead: 120_000,
    found: ['Clock', 'problem', ' s apart. From 5 min on, keys from the future are refused.', 'NTP'],
  },
  {
    of: 'no secret',
    env: { IDEMPOTENCY_SECRET: '' },
    found: ['Secret', 'problem', 'production refuses to run', 'openssl rand -base64 32'],
  },
  {
    of: 'a second secret that is too short',
    env: { IDEMPOTENCY_SECRET: `${SIGNING},short` },
    found: ['Secret', 'problem', 'IDEMPOTENCY_SECRET number 2 is shorter than 32 characters', 'openssl'],
  },
  {
    of: 'a second secret, behind a space, that something else has as well',
    env: { IDEMPOTENCY_SECRET: `${SIGNING}, ${OTHER}`, SESSION_SECRET: OTHER },
    found: ['Secret', 'problem', 'IDEMPOTENCY_SECRET number 2 and SESSION_SECRET are one secret', 'openssl'],
  },
  {
    of: 'a secret that a webhook has as well, with a prefix',
    env: { IDEMPOTENCY_SECRET: OTHER, CRM_WEBHOOK_SECRET: `whsec_${OTHER}` },
    found: ['Secret', 'problem', 'IDEMPOTENCY_SECRET and CRM_WEBHOOK_SECRET are one secret', 'openssl'],
  },
  {
    of: 'a long secret that can be guessed',
    env: { IDEMPOTENCY_SECRET: 'changeme'.repeat(5) },
    found: ['Secret', 'problem', 'IDEMPOTENCY_SECRET repeats itself: production refuses to run.', 'openssl'],
  },
  {
    of: 'a cron secret that can be guessed',
    env: { CRON_SECRET: 'x'.repeat(40) },
    found: ['Cron secret', 'problem', 'CRON_SECRET has fewer than 5 different characters', 'openssl'],
  },
  {
    of: 'one secret for two purposes',
    env: { CRON_SECRET: SIGNING },
    found: ['Cron secret', 'problem', 'CRON_SECRET is IDEMPOTENCY_SECRET as well', 'openssl'],
  },
  {
    of: 'nobody who calls the completer',
    sql: [
      key('state, expires_at, next_attempt_at, lease_until', "'in_progress', now(), now() - interval '5 min', now()"),
      gone,
    ],
    found: ['Worker', 'problem', '1 unfinished key should have gone on', 'npx oncekit worker'],
  },
  {
    of: 'a key of an operation that is not listed, whose charge may have been made',
    sql: [overdue('orders.create', 'true'), gone],
    found: [
      'Worker',
      'problem',
      '1 unfinished key of orders.create waits for an operation of that name, and none is listed.',
      "where .as('orders.create') has made it",
    ],
  },
  {
    of: 'a key of a listed operation that the running worker does not know',
    sql: [overdue('checkout'), gone],
    isWorking: true,
    found: [
      'Worker',
      'problem',
      '1 unfinished key of checkout has been due for over an hour, and the worker that runs does not know the operation.',
      'Import the module that defines checkout',
    ],
  },
  {
    of: 'an operation in phases that a route has under another name',
    files: (files) => ({
      ...files,
      'lib/checkout.ts': `${files['lib/checkout.ts']}`.replace('.handler(', '.phases('),
      'app/api/orders/route.ts': "export const POST = routeHandler(checkout.as('orders.create'));\n",
    }),
    isWorking: true,
    found: [
      'Operations',
      'problem',
      'orders.create (app/api/orders/route.ts:1) is not listed: no worker goes on with its keys.',
      "Add checkout.as('orders.create') to `operations` in lib/operations.ts.",
    ],
  },
  {
    of: 'nobody who reaps',
    sql: [key('state, settled_at, expires_at', "'succeeded', now(), now() - interval '27 hours'"), gone],
    found: ['Worker', 'warning', '1 key should have been deleted a day ago.', '/api/cron/reap'],
  },
  {
    of: 'a key that could not be finished for long',
    sql: [
      key(
        'state, expires_at, needs_attention, next_attempt_at, lease_until',
        "'in_progress', now() + interval '1 day', true, now() + interval '1 hour', now()",
      ),
      gone,
    ],
    found: [
      'Attention',
      'warning',
      '1 key could not be finished for long. The completer goes on with it.',
      'npx oncekit keys list --stuck',
    ],
  },
  {
    of: 'a key that nobody could finish',
    sql: [key('state, expires_at, needs_attention', "'unknown', now() + interval '1 day', true"), gone],
    found: ['Attention', 'warning', '1 key waits for a person.', 'npx oncekit keys list --stuck'],
  },
  {
    of: 'an outbox without a worker',
    app: { ...loaded, outbox },
    files: (files) => ({ ...files, 'app/api/cron/[task]/route.ts': cronOf('{ ...idempotency, outbox }') }),
    found: [
      'Worker',
      'warning',
      'No worker was seen in the last 90 s, and nothing calls /api/cron/relay',
      'npx oncekit worker',
    ],
  },
  {
    of: 'a window that was raised too soon',
    files: (files) => ({
      ...files,
      'lib/idempotency.ts': `${files['lib/idempotency.ts']}`.replace('prisma,', "prisma,\n  window: '48h',"),
    }),
    sql: [key('state, settled_at, expires_at', "'succeeded', now(), now() + interval '25 hours'", '0 s'), gone],
    found: ['Window', 'problem', 'some rows are kept for 25 h only', 'Put the window back to 24 h'],
  },
  {
    of: 'a scope that is still closed',
    files: (files) => ({
      ...files,
      'lib/idempotency.ts': `${files['lib/idempotency.ts']}`.replace(/scope: .*/, 'scope: async () => null,'),
    }),
    found: ['Scope', 'warning', 'Nobody may act yet', 'Return who acts from `scope` in lib/idempotency.ts.'],
  },
  {
    of: 'an operation that is not listed',
    app: { ...loaded, operations: [] },
    found: [
      'Operations',
      'problem',
      'checkout (lib/checkout.ts:2) is not listed',
      'Add it to `operations` in lib/operations.ts.',
    ],
  },
  {
    of: 'no status route',
    files: ({ 'app/api/idempotency/[operation]/[key]/route.ts': _, ...files }) => files,
    found: [
      'Status route',
      'problem',
      'There is none: a form whose answer was lost cannot ask for it.',
      'npx oncekit init',
    ],
  },
  {
    of: 'a cron route without a secret',
    files: (files) => ({
      ...files,
      'app/api/cron/[task]/route.ts': 'export const { GET } = cronRoute(idempotency, {});',
    }),
    found: ['Cron route', 'problem', 'has no secret, so it stays closed', 'process.env.CRON_SECRET'],
  },
  {
    of: 'a cron route that is not given the outbox',
    app: { ...loaded, outbox },
    files: (files) => ({ ...files, 'vercel.json': '{ "crons": [{ "path": "/api/cron/relay" }] }' }),
    found: ['Cron route', 'warning', 'is given no outbox', 'cronRoute({ ...idempotency, outbox }, '],
  },
  {
    of: 'an outbox that no worker can import',
    files: (files) => ({
      ...files,
      'lib/shop.ts': "const outbox = createOutbox({ prisma, destinations: [{ name: 'crm', publisher }] });",
    }),
    found: [
      'Outbox',
      'problem',
      'lib/shop.ts does not export its outbox, so no worker sends its events.',
      'Write there: export const outbox = createOutbox(',
    ],
  },
  {
    of: 'a page that issues one key for all',
    files: (files) => ({ ...files, 'app/page.tsx': 'const key = issueKey(checkout);\nexport default () => null;' }),
    found: ['Pages', 'problem', 'app/page.tsx:1 issues a key once for all visitors.', 'Call issueKey inside the page'],
  },
  {
    of: 'an app without init',
    files: ({ 'lib/idempotency.ts': _, ...files }) => files,
    found: ['App', 'problem', 'There is no lib/idempotency.ts', 'npx oncekit init makes it.'],
  },
  {
    of: 'a set-up that cannot be loaded',
    app: new CliError('lib/idempotency.ts: Rows would be deleted.', 'Make it longer.'),
    found: ['App', 'problem', 'lib/idempotency.ts: Rows would be deleted.', 'Make it longer.'],
  },
];

test('a pooler in transaction mode is noticed, and whether the worker has a way around it', {
  tags: 'pgbouncer',
}, async () => {
  const bouncer = await startPgBouncer(database.url, { connections: 2 });
  const through = async (env: Record<string, string>) => {
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
    return (await look()).filter(({ check, level }) => check === 'Pooler' || level === 'problem');
  };
  const check = 'Pooler';
  try {
    expect(await through({ DATABASE_URL: bouncer.url })).toMatchObject([{ check, level: 'warning' }]);
    expect(await through({ DIRECT_URL: bouncer.url })).toMatchObject([{ check, level: 'problem' }]);
    expect(await through({ DIRECT_URL: database.url })).toMatchObject([{ check, level: 'ok' }]);
  } finally {
    await bouncer.close();
  }
});

test('doctor on a database without the tables', async () => {
  // The server's own database: nobody migrates that one.
  vi.stubEnv('DATABASE_URL', Object.assign(new URL(database.url), { pathname: 'postgres' }).href);
  const says = "The kit's tables are not there.";
  const fix = 'npx oncekit init, then npx prisma migrate deploy';
  expect(await look()).toContainEqual({ check: 'Migrations', level: 'problem', says, fix });
});

test.each(BROKEN.map((each) => [each.of, each] as const))(
  'doctor on %s',
  async (_, { env = {}, files = (all) => all, app = loaded, sql: statements, isWorking, ahead, found }) => {
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
    const now = Date.now;
    if (ahead) vi.spyOn(Date, 'now').mockImplementation(() => now() + ahead);
    if (statements) await sql.query(statements[0]);
    const stop = isWorking && (await startElsewhere());
    const findings = await look(files(ready()), app).finally(async () => {
      await stop?.();
      if (statements) await sql.query(statements[1]);
    });
    const [check, level, says, fix] = found;
    const wrong = findings.filter((each) => each.level !== 'ok');
    expect(wrong).toEqual([{ check, level, says: expect.stringContaining(says), fix: expect.stringContaining(fix) }]);
    expect(wrong[0]?.says).not.toMatch(/\n|hunter2/);
  },
);
