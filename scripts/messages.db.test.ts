import { execFile } from 'node:child_process';
import { userInfo } from 'node:os';
import { createInbox, createOutbox, PublishError } from 'oncekit/messaging';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Asked, asked } from './messages-asked.ts';
import { run } from './messages-commands.ts';
import { type TestDatabase, testDatabase } from './testing/test-database.ts';

let database: TestDatabase;
/** An event that is dead at `crm`, with one that waits behind it; `gone` wants nothing more. */
let dead: string;
beforeAll(async () => {
  database = await testDatabase();
  const { client: prisma } = database;
  const publisher = { publish: () => Promise.reject(new Error('secret-answer')) };
  const gone = { publish: () => Promise.reject(new PublishError('HTTP 410', { next: 'stop' })) };
  const outbox = createOutbox({
    prisma,
    destinations: [
      { name: 'crm', attempts: 1, publisher },
      { name: 'gone', publisher: gone },
    ],
    onReport: () => {},
  });
  const announce = () =>
    prisma.$transaction((tx) =>
      outbox.enqueue(tx, { type: 'order.paid', aggregate: 'order:1\u001b[2J', payload: { card: 'secret-card' } }),
    );
  dead = (await announce()).eventId;
  await announce();
  await outbox.relayDue();
  const inbox = createInbox({ prisma, attempts: 1, onReport: () => {} });
  const received = { source: 'bank', eventId: 'evt_1', payload: { card: 'secret-card' } };
  await inbox.receiveOnce(received, () => Promise.reject(new Error('secret-effect')));
});
afterAll(() => database?.drop());

const recordsOf = async (peer: string) =>
  (await database.client.messageEvent.findMany({ where: { peer }, orderBy: { id: 'asc' } })).map(
    ({ type, actor }) => `${type} ${actor}`,
  );

/** In this process: starting one takes longer than what it does. */
const messages = async (...args: string[]) => run(database.client, asked(args) as Asked);

test('M4 lists what is not settled, without payloads', async () => {
  const { words } = await messages('list');
  expect(words).toMatch(new RegExp(`dead +crm +${dead} +order\\.paid +order:1\\?\\[2J #1 +1 attempt `));
  expect(words).toMatch(/pending +crm .* #2 .*waits for #1, a dead letter/);
  expect(words).toMatch(/dead +bank +evt_1 +1 attempt/);
  expect(words).toContain('gone is stopped, and its events wait: HTTP 410');
  // Neither what was sent, nor what would move the terminal's cursor.
  for (const hidden of ['secret', '\u001b']) expect(words).not.toContain(hidden);
  const cut = await messages('list', '--box', 'outbox', '--state', 'pending', '--limit', '1');
  expect(cut.words).toMatch(/^Outbox:\npending [^\n]+\nThere are more/);
});

test('M4 skips, requeues and resumes once, recorded with who did it', async () => {
  const skip = () => messages('skip', 'crm', dead, '--as', 'ann');
  expect(await skip()).toEqual({ isDone: true, words: `Skipped, by ann: ${dead} of crm.` });
  expect(await skip()).toEqual({ isDone: false, words: `Nothing was done: ${dead} of crm is skipped.` });
  expect(await recordsOf('crm')).toEqual(['skipped ann']);
  expect(await messages('requeue', 'bank', 'evt_1')).toMatchObject({ isDone: true });
  expect(await messages('requeue', 'bank', 'evt_1')).toMatchObject({ words: expect.stringContaining('is failed') });
  expect(await messages('requeue', 'bank', 'evt_2')).toMatchObject({ words: expect.stringContaining('not exist') });
  expect(await recordsOf('bank')).toEqual([`requeued ${userInfo().username}`]);
  expect(await messages('resume', 'gone', '--as', 'ann')).toMatchObject({ isDone: true });
  expect(await messages('resume', 'gone', '--as', 'ann')).toMatchObject({ isDone: false });
  expect(await messages('abandon', 'gone', '--as', 'ann')).toMatchObject({
    isDone: false,
    words: expect.stringContaining('Add --yes'),
  });
  expect(await messages('abandon', 'gone', '--as', 'ann', '--yes')).toMatchObject({ isDone: true });
  expect(await messages('abandon', 'gone', '--as', 'ann')).toMatchObject({ isDone: false });
  expect(await recordsOf('gone')).toEqual(['stopped relay', 'resumed ann', 'abandoned ann', 'abandoned ann']);
});

test('M4 as a process: done, nothing done, and asked wrongly are told apart', async () => {
  await database.client.outboxDelivery.updateMany({
    where: { destination: 'crm' },
    data: { state: 'dead', nextAttemptAt: null, settledAt: new Date() },
  });
  const all = ['requeue-all', 'crm', '--as', 'bob'];
  const [first, wrong] = await Promise.all([program(...all), program('requeue', 'crm')]);
  expect(first).toEqual({ code: 0, out: 'Requeued, by bob: 2 of crm.\n', err: '' });
  expect(await program(...all)).toEqual({ code: 1, out: '', err: 'Nothing was done: crm has no dead letters.\n' });
  expect((await recordsOf('crm')).slice(-2)).toEqual(['requeued bob', 'requeued bob']);
  expect(wrong).toMatchObject({ code: 2, out: '', err: expect.stringContaining('takes 2 names') });
}, 60_000);

test.each([
  ['', 'There is no "".'],
  ['reqeue crm 1', 'There is no "reqeue".'],
  ['skip crm', '"skip" takes 2 names, and there are 1.'],
  ['list --state daed', 'There is no state "daed".'],
  ['list --box outbox --state failed', 'There is no state "failed".'],
  ['list --sate dead', "Unknown option '--sate'"],
  ['list --limit 0', '--limit takes a number'],
])('"%s" is refused: %s', (words, why) => {
  expect(() => asked(words.split(' ').filter(Boolean))).toThrow(why);
});

function program(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const env = { ...process.env, DATABASE_URL: database.url };
  return new Promise((resolve) => {
    execFile(process.execPath, ['--import', 'tsx', 'scripts/messages.ts', ...args], { env }, (error, out, err) => {
      resolve({ code: error ? Number(error.code) : 0, out, err });
    });
  });
}
