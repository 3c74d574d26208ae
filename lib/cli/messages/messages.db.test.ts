import { userInfo } from 'node:os';
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type TestDatabase, testDatabase } from '../../../scripts/testing/test-database.ts';
import { createInbox, createOutbox, PublishError } from '../../messaging/index.ts';
import { folders } from '../app/app.fixture.ts';
import { runOncekit } from '../oncekit.fixture.ts';
import { rawClient } from '../raw-client.ts';
import { readMessageAct } from './messages.ts';

const made = folders();
let database: TestDatabase;
let sql: pg.Client;
/** An event that is dead at `crm`, with one that waits behind it; `gone` wants nothing more. */
let dead: string;
beforeAll(async () => {
  database = await testDatabase();
  sql = new pg.Client({ connectionString: database.url });
  await sql.connect();
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

/** The id of an event, as a sender may choose it. */
const FORGING = 'evt_3\u001b[2J\ndead  bank  evt_4';
afterAll(async () => {
  made.remove();
  await sql?.end();
  await database?.drop();
});

const recordsOf = async (peer: string) =>
  (await database.client.messageEvent.findMany({ where: { peer }, orderBy: { id: 'asc' } })).map(
    ({ type, actor }) => `${type} ${actor}`,
  );

/** As the command does it, in this process and on a connection of `pg` alone. */
const messages = (...args: string[]) => readMessageAct(args)({ prisma: rawClient(sql), tables: undefined });

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

test('M4 an event begins no line of its own, neither in the list nor in the log', async () => {
  const said = vi.spyOn(console, 'error').mockImplementation(() => {});
  const inbox = createInbox({ prisma: database.client, attempts: 1 });
  await inbox.receiveOnce({ source: 'post', eventId: FORGING, payload: {} }, () => Promise.reject(new Error('no')));
  const { words } = await messages('list', '--box', 'inbox');
  const requeued = await messages('requeue', 'post', FORGING);
  const logged = said.mock.calls.flat().join();
  said.mockRestore();
  const ids = words.split('\n').map((line) => line.split(/ +/)[2]);
  expect(ids.sort()).toEqual(['evt_1', 'evt_3?[2J?dead', undefined]);
  expect(requeued).toMatchObject({
    isDone: true,
    words: expect.stringMatching(
      /^[^\n]*: evt_3\?\[2J\?dead {2}bank {2}evt_4 of post\. [^\n]*`handle` for post;[^\n]*$/,
    ),
  });
  expect(logged).toMatch(/^\[oncekit\] The event evt_3\?\[2J\?dead {2}bank {2}evt_4 of post could not be processed.*$/);
});

test('M4 skips, requeues and resumes once, recorded with who did it', async () => {
  const skip = () => messages('skip', 'crm', dead, '--actor', 'ann');
  expect(await skip()).toEqual({ isDone: true, words: `Skipped, by ann: ${dead} of crm.` });
  expect(await skip()).toEqual({ isDone: false, words: `Nothing was done: ${dead} of crm is skipped.` });
  expect(await recordsOf('crm')).toEqual(['skipped ann']);
  expect(await messages('requeue', 'bank', 'evt_1')).toMatchObject({ isDone: true });
  expect(await messages('requeue', 'bank', 'evt_1')).toMatchObject({ words: expect.stringContaining('is failed') });
  expect(await messages('requeue', 'bank', 'evt_2')).toMatchObject({ words: expect.stringContaining('not exist') });
  expect(await recordsOf('bank')).toEqual([`requeued ${userInfo().username}`]);
  expect(await messages('resume', 'gone', '--actor', 'ann')).toMatchObject({ isDone: true });
  expect(await messages('resume', 'gone', '--actor', 'ann')).toMatchObject({ isDone: false });
  expect(await messages('abandon', 'gone', '--actor', 'ann')).toMatchObject({
    isDone: false,
    words: expect.stringContaining('Add --yes'),
  });
  expect(await messages('abandon', 'gone', '--actor', 'ann', '--yes')).toMatchObject({ isDone: true });
  expect(await messages('abandon', 'gone', '--actor', 'ann')).toMatchObject({ isDone: false });
  expect(await recordsOf('gone')).toEqual(['stopped relay', 'resumed ann', 'abandoned ann', 'abandoned ann']);
});

test('M4 says how far it is with many', async () => {
  const { client } = database;
  await client.$executeRaw`
    INSERT INTO outbox_events (id, aggregate, sequence, type, payload, headers, derived_key, created_at)
    SELECT gen_random_uuid(), 'many:' || n, 1, 'order.paid', '{}', '{}', 'many ' || n, now() FROM generate_series(1, 10001) n`;
  await client.$executeRaw`
    INSERT INTO outbox_deliveries (event_id, destination, aggregate, sequence, state, settled_at)
    SELECT id, 'many', aggregate, sequence, 'dead', now() FROM outbox_events WHERE aggregate LIKE 'many:%'`;
  const said = vi.spyOn(console, 'error').mockImplementation(() => {});
  const answers = [await messages('requeue-all', 'many'), await messages('abandon', 'many', '--yes')];
  const lines = said.mock.calls.flat();
  said.mockRestore();
  expect(answers.map(({ words }) => words.replace(/, by .*?:/, ':'))).toEqual([
    'Requeued: 10001 of many.',
    'Given up: 10001 of many.',
  ]);
  expect(lines).toEqual(['Requeued so far: 10000 of many …', 'Given up so far: 10000 of many …']);
});

test('M4 as a process: done, nothing done, and asked wrongly are told apart', { tags: 'all' }, async () => {
  await database.client.outboxDelivery.updateMany({
    where: { destination: 'crm' },
    data: { state: 'dead', nextAttemptAt: null, settledAt: new Date() },
  });
  const all = ['requeue-all', 'crm', '--actor', 'bob'];
  const options = { cwd: made.of({}), env: { DATABASE_URL: database.url } };
  const oncekit = (args: string[]) => runOncekit(['messages', ...args], options);
  const [first, wrong] = await Promise.all([oncekit(all), oncekit(['requeue', 'crm'])]);
  expect(first).toMatchObject({ code: 0, out: 'Requeued, by bob: 2 of crm.\n', err: '' });
  expect(await oncekit(all)).toMatchObject({
    code: 1,
    out: '',
    err: 'Nothing was done: crm has no dead letters.\n',
  });
  expect((await recordsOf('crm')).slice(-2)).toEqual(['requeued bob', 'requeued bob']);
  expect(wrong).toMatchObject({ code: 2, out: '', err: expect.stringContaining('It takes 2 names') });
});

test.each([
  ['', 'What about messages?'],
  ['reqeue crm 1', 'There is no "messages reqeue".'],
  ['skip crm', 'It takes 2 names, and there are 1.'],
  ['list --state daed', 'There is no state "daed".'],
  ['list --box outbox --state failed', 'There is no state "failed".'],
  ['list --box post', 'There is no box "post".'],
  ['list --sate dead', "Unknown option '--sate'"],
  ['list --limit 0', '--limit takes a number'],
  ['abandon crm --actor=', 'A --actor has 1 to 255 characters.'],
])('"messages %s" is refused: %s', (words, why) => {
  expect(() => readMessageAct(words.split(' ').filter(Boolean))).toThrow(why);
});
