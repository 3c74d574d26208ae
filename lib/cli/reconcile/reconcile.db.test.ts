import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../../../scripts/testing/test-database.ts';
import { createInbox } from '../../messaging/prisma.ts';
import { folders } from '../app/app.fixture.ts';
import { makeRunnableApp, runOncekit, runScript } from '../oncekit.fixture.ts';

// The command as a process, on an app of its own. With a payment gateway: shop/orders/reconcile.db.test.ts.

const made = folders();
let database: TestDatabase;
let consumer: TestDatabase;
let app: string;
beforeAll(async () => {
  [database, consumer] = await Promise.all([testDatabase(), testDatabase()]);
  app = makeRunnableApp(made, {
    'lib/messaging.ts': `import { createOutbox } from 'oncekit/messaging';
import { prisma } from './prisma';
export const outbox = createOutbox({ prisma, destinations: [] });
`,
    'lib/checkout.ts': `import { z } from 'zod';
import { idempotency } from './idempotency';
import { outbox } from './messaging';
const schema = z.object({ sku: z.string() });
const patient = { timeoutMs: 30_000, maxWaitMs: 30_000 }; // also where a machine is busy
export const order = idempotency.operation({ name: 'order', schema, ...patient }).handler(async ({ tx, input, key, scope }) => {
  await tx.auditRecord.create({ data: { action: 'ordered ' + key, ...scope, operation: undefined } });
  await outbox.enqueue(tx, { type: 'order.placed', aggregate: 'sku:' + input.sku, payload: {} }, { key, scope });
  return { sku: input.sku };
});
export const book = idempotency.operation({ name: 'book', schema, ...patient }).phases(async ({ foreign }) =>
  foreign('booked', { arguments: {}, indeterminate: 'unknown', send: async () => { throw new Error('sent'); } }));
`,
    'lib/operations.ts':
      "import { book, order } from './checkout';\nexport const operations = [book, order] as const;\n",
    'order.ts': `import { order } from './lib/checkout';
const [, , key, sku] = process.argv;
const scope = { tenant: 'main', principal: 'ann' };
order.execute({ key, scope, payload: { sku } }).then((outcome) => {
  console.log(JSON.stringify(outcome.ok ? { data: outcome.data, replayed: outcome.replayed } : outcome.code));
  process.exit();
});
`,
  });
});
afterAll(async () => {
  made.remove();
  await Promise.all([database?.drop(), consumer?.drop()]);
});
beforeEach(async () => {
  await database.client
    .$executeRaw`TRUNCATE idempotency_keys, idempotency_phases, outbox_events, outbox_aggregates CASCADE`;
  await consumer.client.inboxEvent.deleteMany();
});

const options = () => ({ cwd: app, env: { DATABASE_URL: database.url, CONSUMER_URL: consumer.url } });
const place = async (key: string, sku = 'mug') =>
  JSON.parse((await runScript(['--env-file=.env', 'order.ts', key, sku], options())).out);
const reconcile = (...args: string[]) => runOncekit(['reconcile', '--actor', 'eve', ...args], options());
let files = 0;
/** A file of its own each time: a test that has run out of time may still be writing. */
const keysFile = (...lines: object[]) => {
  const file = path.join(app, `keys-${++files}.jsonl`);
  writeFileSync(file, lines.map((line) => JSON.stringify({ tenant: 'main', principal: 'ann', ...line })).join('\n'));
  return ['--keys', file];
};

/** An order whose event a consumer has, in a database that knows of neither. */
async function lostOrder(key: string) {
  expect(await place(key)).toMatchObject({ replayed: false });
  const [event] = await database.client.outboxEvent.findMany();
  const inbox = createInbox({ prisma: consumer.client });
  await inbox.receiveOnce({ source: 'shop', eventId: event?.id as string, payload: {} }, async () => {});
  await database.client.$executeRaw`TRUNCATE idempotency_keys, outbox_events, outbox_aggregates CASCADE`;
  return event?.id as string;
}

test('an event that nobody knows any more is listed, until its key is named', async () => {
  const event = await lostOrder('order-1');
  const inbox = ['--inbox', 'CONSUMER_URL'];
  const orphans = await reconcile(...inbox);
  expect(orphans.out, orphans.err).toMatch(new RegExp(`EVENT +SOURCE +RECEIVED\\n${event}  shop    \\d+ s ago\\n`));
  expect(orphans.code).toBe(1);
  for (const narrowed of [
    ['--source', 'other'],
    ['--since', '2999-01-01'],
  ]) {
    expect(await reconcile(...inbox, ...narrowed)).toMatchObject({ code: 0, out: 'Nothing is missing.\n' });
  }

  const keys = keysFile({ operation: 'order', key: 'order-1', payload: { sku: 'mug' } });
  const entered = await reconcile(...keys, ...inbox, '--yes', '--json');
  expect(entered).toMatchObject({ code: 0, err: '' });
  expect(JSON.parse(entered.out)).toEqual({
    keys: [
      {
        ...{ tenant: 'main', principal: 'ann', operation: 'order', key: 'order-1' },
        ...{ kind: 'lost', calls: [], receivedEvents: [event], canEnter: true },
        entered: { kind: 'entered', state: 'succeeded' },
      },
    ],
    orphans: [],
  });
  expect((await database.client.outboxEvent.findMany()).map(({ id }) => id)).toEqual([event]);
  expect(await reconcile(...inbox)).toMatchObject({ code: 0, err: '' });
  expect(await place('order-1')).toEqual({ data: { sku: 'mug' }, replayed: true });
  expect(await place('order-1', 'lamp')).toBe('payload_mismatch');
});

test('what nobody can be asked about is left to a person, whose result is entered by hand', {
  tags: 'all',
}, async () => {
  const line = { operation: 'book', key: 'book-1', payload: { sku: 'secret-sku' } };
  const asked = await reconcile(...keysFile(line), '--yes');
  expect(asked.out).toMatch(/ lost +booked: cannot be asked\n/);
  expect(asked.err).toContain('book-1: nobody can be asked: find out, and add a "result" to the line');
  expect(asked.code).toBe(1);
  const result = { room: 'secret-room' };
  const listed = await reconcile(...keysFile({ ...line, result }));
  expect(listed.out).toContain('booked: cannot be asked; a result by hand');
  expect(await database.client.idempotencyKey.count()).toBe(0);
  const entered = await reconcile(...keysFile({ ...line, result }), '--yes');
  expect(entered).toMatchObject({ code: 0, out: expect.stringContaining('book-1: entered: succeeded') });
  expect(await database.client.idempotencyKey.findFirst()).toMatchObject({ state: 'succeeded' });
  for (const { out, err } of [asked, listed, entered]) expect(out + err).not.toContain('secret');
});

test.each([
  [2, ['--keys'], 'argument missing'],
  [2, [], 'A lost key is in no table'],
  [2, ['--inbox', 'x', '--since', 'soon'], '--since takes a time'],
  [2, ['--inbox', 'postgresql://me:hunter2@127.0.0.1:1/x'], '--inbox has a password'],
  [1, ['--keys', 'nowhere'], 'nowhere cannot be read: ENOENT.'],
  [1, ['--inbox', 'postgresql://127.0.0.1:1/x'], 'No database answers at 127.0.0.1:1/x'],
])('ends with %i and a sentence for %j', { tags: 'all' }, async (code, args, why) => {
  const ended = await reconcile(...args);
  expect(ended).toMatchObject({ code, err: expect.stringContaining(why) });
});

test('a bad line ends it before anything is done', { tags: 'all' }, async () => {
  const keys = keysFile({ operation: 'book', key: 'book-2', result: 1 }, { operation: 'book' });
  const ended = await reconcile(...keys, '--yes');
  expect(ended).toMatchObject({
    code: 1,
    err: expect.stringMatching(/keys-\d+\.jsonl, line 2: it has no key .*\nFix: /),
  });
  expect(await database.client.idempotencyKey.count()).toBe(0);
});

test('a line that is no call of the app, and one without a payload, are said', { tags: 'all' }, async () => {
  const keys = keysFile(
    { operation: 'sell', key: 'k' },
    { operation: 'order', key: 'k2' },
    { operation: 'order', key: 'k3', payload: {} },
  );
  const ended = await reconcile(...keys, '--yes');
  expect(ended.out).toMatch(/^k +sell +ann +not looked up: no such operation$/m);
  expect(ended.out).toMatch(/^k3 +order +ann +not looked up: validation$/m);
  expect(ended.err).toContain('k2: nobody can be asked without its payload');
  expect(ended.code).toBe(1);
});
