import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { silentProxy } from '../store/prisma/wire/silent-proxy.fixture.ts';
import { folders } from './app/app.fixture.ts';
import { closeDatabase, openDatabase } from './database.ts';
import { SUBCOMMANDS as KEYS_COMMANDS } from './keys/arguments.ts';
import { makeRunnableApp, runOncekit, startOncekit } from './oncekit.fixture.ts';

// Each command as a process, at a database that takes connections and says nothing, from the first or as soon as it has let
// one in: each ends by itself, says why, and ends with 1. A command that is new fails here until it is run, too.

/** Node, tsx and the app are loaded in that time, too, all processes at once: 40 s have been seen on a slow machine. */
const LOADING_MS = 90_000;
const made = folders();
let database: TestDatabase;
let [dark, mute]: Awaited<ReturnType<typeof silentProxy>>[] = [];
let app: string;
beforeAll(async () => {
  database = await testDatabase();
  [dark, mute] = await Promise.all([silentProxy(database.url), silentProxy(database.url)]);
  dark.darken(true);
  mute.mute(true);
  app = makeRunnableApp(made, {
    'lib/messaging.ts': `import { createInbox, createOutbox } from 'oncekit/messaging';
import { prisma } from '@/lib/prisma';
export const inbox = createInbox({ prisma, sources: { stripe: { handle: async () => {} } } });
export const outbox = createOutbox({ prisma, destinations: [{ name: 'sink', publisher: { publish: async () => {} } }] });
`,
    'lost.jsonl': '{"operation": "checkout", "tenant": "main", "principal": "ann", "key": "k", "payload": {}}\n',
    'lib/checkout.ts': `import { z } from 'zod';
import { idempotency } from './idempotency';
export const checkout = idempotency
  .operation({ name: 'checkout', schema: z.object({}) })
  .phases(async ({ atomic }) => atomic('place', async () => 'placed'));
`,
  });
});
afterAll(async () => {
  dark?.close();
  mute?.close();
  made.remove();
  await database?.drop();
});

const optionsFor = (url: string | undefined) => ({ cwd: app, env: { DATABASE_URL: url } });
const oncekit = (url: string | undefined, args: string[]) => runOncekit(args, optionsFor(url));

const WHOSE = ['--operation', 'checkout', '--tenant', 'main', '--principal', 'ann'];
const KEYS: Record<(typeof KEYS_COMMANDS)[number], string[]> = {
  list: ['keys', 'list'],
  show: ['keys', 'show', 'k'],
  release: ['keys', 'release', 'k'],
  fence: ['keys', 'fence', 'k', ...WHOSE],
};
const MESSAGES = { list: ['messages', 'list'], resume: ['messages', 'resume', 'sink'] };
const RECONCILE = { reconcile: ['reconcile', '--keys', 'lost.jsonl'] };
const PASSES = { complete: ['complete'], reap: ['reap'], relay: ['relay'], inbox: ['inbox'] };
/** They write files, and ask no database. */
const ASK_NOTHING = ['init', 'add', 'remove'];

test('each command is run here', async () => {
  const { err } = await oncekit(undefined, ['frobnicate']);
  const [, listed = ''] = /There is: (.*)\./.exec(err) ?? [];
  expect(listed.split(', ').sort()).toEqual(
    [...Object.keys(PASSES), ...Object.keys(RECONCILE), 'keys', 'messages', 'doctor', 'worker', ...ASK_NOTHING].sort(),
  );
  expect(Object.keys(KEYS).sort()).toEqual([...KEYS_COMMANDS].sort());
});

test('a connection is closed that says nothing any more', async () => {
  const proxy = await silentProxy(database.url);
  const sql = await openDatabase(proxy.url);
  await sql.query('SELECT 1');
  proxy.silence();
  const began = performance.now();
  await closeDatabase(sql);
  expect(performance.now() - began).toBeLessThan(3000);
  proxy.close();
});

describe('at a database that says nothing', () => {
  const commands = [KEYS, MESSAGES, PASSES, RECONCILE].flatMap((group) => Object.values<string[]>(group));

  test.concurrent('from the first: the commands', async () => {
    const ended = await Promise.all(commands.map((args) => oncekit(dark?.url, args)));
    for (const [n, { code, err, tookMs }] of ended.entries()) {
      expect({ command: commands[n], code, err }).toMatchObject({ code: 1, err: expect.stringMatching(/\nFix: /) });
      expect(tookMs).toBeLessThan(15_000 + LOADING_MS);
    }
  });

  test.concurrent('from the first: doctor says so', async () => {
    const doctor = await oncekit(dark?.url, ['doctor']);
    expect(doctor).toMatchObject({ code: 1, out: expect.stringMatching(/^problem +Database +No database answers/m) });
    expect(doctor.tookMs).toBeLessThan(15_000 + LOADING_MS);
  });

  test.concurrent('from the first: worker waits for it, and ends when it is told to', async () => {
    const worker = startOncekit(['worker'], optionsFor(dark?.url));
    const waits = () => expect(worker.output()).toContain('Running jobs fails and is tried again');
    await vi.waitFor(waits, { timeout: 15_000 + LOADING_MS, interval: 50 }).catch((error) => {
      worker.stop();
      throw error;
    });
    const began = performance.now();
    expect(await worker.stop()).toBe(0);
    expect(performance.now() - began).toBeLessThan(30_000); // its grace is 5 s
  });

  test.concurrent('as soon as it has let one in', async () => {
    const { complete, relay, inbox } = PASSES;
    const asking = [KEYS.show, KEYS.fence, complete, relay, inbox, RECONCILE.reconcile, MESSAGES.list];
    const [doctor, ...ended] = await Promise.all([
      oncekit(mute?.url, ['doctor']),
      ...asking.map((args) => oncekit(mute?.url, args)),
    ]);
    for (const [n, { code, err, tookMs }] of ended.entries()) {
      expect({ command: asking[n], code, err }).toMatchObject({ code: 1, err: expect.stringMatching(/\nFix: /) });
      expect(tookMs).toBeLessThan(16_000 + LOADING_MS);
    }
    expect(doctor).toMatchObject({ code: 1, err: '' });
    expect(doctor.out).toMatch(/^problem +Database +It stopped to answer: Query read timeout\. Fix: /m);
    expect(doctor.tookMs).toBeLessThan(16_000 + LOADING_MS);
  });
});
