import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { bound } from '../../scripts/testing/patience.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { APP, folders } from './app/app.fixture.ts';
import { folderTree } from './app/file-tree.ts';
import { checkWork } from './doctor/work.ts';
import { readKitFiles } from './init/kit-files.ts';
import { makeRunnableApp, runOncekit, startOncekit } from './oncekit.fixture.ts';

// Each command as a process, on an app that is not the demo: a folder of its own, CommonJS by its package.json, with a
// path alias, and with imports that only Next resolves.

const made = folders();
let database: TestDatabase;
let app: string;
beforeAll(async () => {
  database = await testDatabase();
  app = makeRunnableApp(made, {
    'lib/idempotency.ts': `import 'server-only';
import { cookies } from 'next/headers';
import { createIdempotency } from 'oncekit';
import { createInbox } from 'oncekit/messaging';
import { prisma } from '@/lib/prisma';
export const idempotency = createIdempotency({
  prisma,
  secret: (process.env.IDEMPOTENCY_SECRET ?? '').split(','),
  scope: async () => {
    const principal = (await cookies()).get('id')?.value;
    return principal ? { tenant: 'main', principal } : null;
  },
});
export const inbox = createInbox({ prisma });
`,
    'lib/checkout.ts': `import { z } from 'zod';
import { idempotency } from './idempotency';
export const checkout = idempotency
  .operation({ name: 'checkout', schema: z.object({}) })
  .phases(async ({ atomic }) => atomic('place', async () => 'placed'));
`,
  });
});
afterAll(async () => {
  made.remove();
  await database?.drop();
});

const WORK = { destinations: [], hasInbox: false, called: [] };
const env = () => ({ DATABASE_URL: database.url });
const oncekit = (cwd: string, args: string[], { stdin = '' } = {}) => runOncekit(args, { cwd, env: env(), stdin });

test('init asks, and writes when it is told to', async () => {
  const fresh = made.of(APP);
  const [no, dry] = await Promise.all([
    oncekit(fresh, ['init'], { stdin: 'n\n' }),
    oncekit(fresh, ['init', '--dry-run']),
  ]);
  expect(no).toMatchObject({ code: 1, err: expect.stringContaining('Nothing was changed.') });
  const migrations = readKitFiles().migrations.filter(({ part }) => part === 'keys').length;
  const files = `A dry run. It would be: ${7 + migrations} files written.`;
  expect(dry).toMatchObject({ code: 0, out: expect.stringContaining(files) });
  expect(folderTree(fresh).list('lib')).toEqual(['prisma.ts']);
  expect(folderTree(fresh).read('lib/prisma.ts')).toBe(APP['lib/prisma.ts']);
  const yes = await oncekit(fresh, ['init'], { stdin: 'y\n' });
  expect(yes).toMatchObject({
    code: 0,
    out: expect.stringMatching(/Next:\n {2}1\. Make the tables: npx prisma migrate deploy\n/),
  });
  expect(yes.out, 'of a file that was open').toContain('chmod 600 .env');
  expect(folderTree(fresh).list('lib')).toEqual(['idempotency.ts', 'operations.ts', 'prisma.ts']);
  expect(yes.out).toContain("+import { PrismaPg } from 'oncekit/adapter-pg';");
  expect(folderTree(fresh).read('lib/prisma.ts')).toContain("import { PrismaPg } from 'oncekit/adapter-pg';");
});

test('doctor and the passes load the app as it is, and keys needs the database alone', async () => {
  const past = new Date(Date.now() - 600_000);
  await database.client.idempotencyKey.create({
    data: {
      tenant: 'main',
      principal: 'ann',
      operation: 'gone',
      key: 'k',
      state: 'in_progress',
      expiresAt: new Date(Date.now() + 90_000_000),
      claimedAt: past,
      leaseUntil: past,
      nextAttemptAt: past,
    },
  });
  const doctor = await oncekit(app, ['doctor']);
  const complete = await oncekit(app, ['complete', '--json']);
  const inbox = await oncekit(app, ['inbox']);
  const keys = await oncekit(made.of({}), ['keys', 'list']);
  expect(doctor).toMatchObject({ code: 1, err: '' });
  expect(doctor.out).toMatch(/^ok +Operations +checkout: listed/m);
  expect(doctor.out).toMatch(/^problem +Worker +1 unfinished key of gone waits for an operation of that name.* Fix: /m);
  expect(complete).toMatchObject({
    code: 0,
    out: '{"task":"complete","taken":0,"settled":0,"unknown":0,"unfinished":0}\n',
    err: '',
  });
  expect(inbox).toMatchObject({ code: 0, out: 'inbox: 0 taken, 0 processed, 0 failed, 0 dead\n', err: '' });
  expect(keys).toMatchObject({ code: 0, out: expect.stringMatching(/in_progress +gone +k +main +ann/), err: '' });
});

test('worker does what is due, and ends when it is told to', async () => {
  const claimedAt = new Date(Date.now() - 90_000_000);
  const expired = { tenant: 'main', principal: 'ann', operation: 'checkout', key: 'old', state: 'succeeded' };
  await database.client.idempotencyKey.create({
    data: { ...expired, claimedAt, settledAt: claimedAt, expiresAt: new Date(Date.now() - 1000) },
  });
  const worker = startOncekit(['worker'], { cwd: app, env: env() });
  const sql = new pg.Client({ connectionString: database.url });
  await sql.connect();
  try {
    await vi.waitFor(() => expect(worker.output()).toContain('reap: 1 deleted'), {
      timeout: bound(40_000),
      interval: 50,
    });
    // As `doctor` sees it from elsewhere.
    const look = () => checkWork(sql, { ...WORK, hasMessaging: true, hasPhases: true });
    const seen = [{ level: 'ok', says: expect.stringMatching(/^One was seen \d+ s ago/) }];
    await database.client.idempotencyKey.deleteMany();
    await vi.waitFor(async () => expect(await look()).toMatchObject(seen));
  } finally {
    await Promise.all([worker.stop(), sql.end()]);
  }
  expect(await worker.stop()).toBe(0);
  expect(await database.client.idempotencyKey.count({ where: { key: 'old' } })).toBe(0);
  // In this order, with whatever else it has to say: a busy machine may keep it from its database for a while.
  const said = ['The worker runs. Operations: checkout', 'reap: 1 deleted', 'The worker finishes what is running …'];
  expect(
    worker
      .output()
      .split('\n')
      .filter((line) => said.includes(line)),
  ).toEqual(said);
});

test('what does not exist is said with what does, and ends with 2', async () => {
  const { code, out, err } = await oncekit(app, ['frobnicate']);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toMatch(/^There is no "frobnicate"\.\nFix: There is: init, add, remove, doctor, /);
});
