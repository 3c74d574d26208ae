import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { bound } from '../../scripts/testing/patience.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { tier } from '../../scripts/testing/tier.ts';
import { silentProxy } from '../store/prisma/wire/silent-proxy.fixture.ts';
import { folders } from './app/app.fixture.ts';
import { withDatabase } from './database.ts';
import { type Exit, makeRunnableApp, runOncekit, startOncekit } from './oncekit.fixture.ts';

// Each command as a process, at a database that takes connections and says nothing, from the first or as soon as it has let
// one in: each ends by itself, says why, and ends with 1. A command that is new fails here until it is run, too.

/** Processes at once: each waits for most of its time. */
const AT_ONCE = 8;
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
/** Each as a process, some at once. One that does not end keeps its test from ending. */
async function runAll(url: string | undefined, commands: string[][]): Promise<Exit[]> {
  const ended: Exit[] = [];
  const waiting = commands.entries();
  const sendInTurn = async () => {
    for (const [n, args] of waiting) ended[n] = await oncekit(url, args);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, sendInTurn));
  return ended;
}

const WHOSE = ['--operation', 'checkout', '--tenant', 'main', '--principal', 'ann'];
const KEYS = {
  list: ['keys', 'list'],
  show: ['keys', 'show', 'k'],
  release: ['keys', 'release', 'k'],
  acknowledge: ['keys', 'acknowledge', 'k'],
  fence: ['keys', 'fence', 'k', ...WHOSE],
};
const MESSAGES = { list: ['messages', 'list'], resume: ['messages', 'resume', 'sink'] };
const RECONCILE = { reconcile: ['reconcile', '--keys', 'lost.jsonl'] };
const PASSES = { complete: ['complete'], reap: ['reap'], relay: ['relay'], inbox: ['inbox'] };
/** They write files, and ask no database. */
const ASK_NOTHING = ['init', 'add', 'remove'];

test('each command is run here', async () => {
  const listedBy = async (...of: string[]) => {
    const { err } = await oncekit(undefined, [...of, 'frobnicate']);
    return /There is: (.*)\./.exec(err)?.[1]?.split(', ').sort();
  };
  expect(await listedBy()).toEqual(
    [...Object.keys(PASSES), ...Object.keys(RECONCILE), 'keys', 'messages', 'doctor', 'worker', ...ASK_NOTHING].sort(),
  );
  expect(await listedBy('keys')).toEqual(Object.keys(KEYS).sort());
});

test('a connection is closed that says nothing any more', async () => {
  const proxy = await silentProxy(database.url);
  await withDatabase(proxy.url, async (sql) => {
    await sql.query('SELECT 1');
    proxy.silence();
  }); // pg's own `end` waits for an answer without an end
  proxy.close();
});

describe('at a database that says nothing', () => {
  async function expectAllEnd(url: string | undefined, commands: string[][]) {
    const ended = await runAll(url, commands);
    for (const [n, { code, err }] of ended.entries()) {
      expect({ command: commands[n], code, err }).toMatchObject({ code: 1, err: expect.stringMatching(/\nFix: /) });
    }
  }

  test('from the first: the commands, or one of each kind', async () => {
    const commands = [KEYS, MESSAGES, PASSES, RECONCILE].flatMap((group) => Object.values<string[]>(group));
    const ofEachKind = [KEYS.list, MESSAGES.list, PASSES.complete, RECONCILE.reconcile];
    await expectAllEnd(dark?.url, tier === 'short' ? ofEachKind : commands);
  });

  test('from the first: doctor says so', { tags: 'all' }, async () => {
    const doctor = await oncekit(dark?.url, ['doctor']);
    expect(doctor).toMatchObject({ code: 1, out: expect.stringMatching(/^problem +Database +No database answers/m) });
  });

  test('from the first: worker waits for it, and ends when it is told to', async () => {
    const worker = startOncekit(['worker'], optionsFor(dark?.url));
    try {
      const waits = () => expect(worker.output()).toContain('Running jobs fails and is tried again');
      await vi.waitFor(waits, { timeout: bound(120_000), interval: 50 });
    } finally {
      expect(await worker.stop()).toBe(0);
    }
  });

  test('as soon as it has let one in: those that do more than ask, or two of them', async () => {
    const { complete, relay, inbox } = PASSES;
    const more = [KEYS.fence, relay, inbox, RECONCILE.reconcile, MESSAGES.list];
    await expectAllEnd(mute?.url, [KEYS.show, complete, ...(tier === 'short' ? [] : more)]);
  });

  test('as soon as it has let one in: doctor says so', { tags: 'all' }, async () => {
    const doctor = await oncekit(mute?.url, ['doctor']);
    expect(doctor).toMatchObject({ code: 1, err: '' });
    expect(doctor.out).toMatch(/^problem +Database +It stopped to answer: Query read timeout\. Fix: /m);
  });
});
