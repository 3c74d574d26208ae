import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { anything, effect, effects, freshKey, kit, rowsOf } from '../integration/kit.fixture.ts';
import { createInbox } from '../messaging/prisma.ts';
import { cronRoute } from '../next/cron-route.ts';
import { complete, type Driven, reap } from './passes.ts';
import { start, within } from './worker.fixture.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());

const cron = (idempotency: Driven, task: string) => {
  const request = new Request(`https://shop.example/api/cron/${task}`, { headers: { authorization: 'Bearer s' } });
  return cronRoute(idempotency, { secret: 's' })
    .GET(request)
    .then((response) => response.json());
};

/** An operation in phases whose executor goes silent after its first phase, and whose lease is over. */
async function abandoned(idempotency: ReturnType<typeof kit>) {
  const key = freshKey();
  let isAlive = false;
  const pay = idempotency.operation({ name: 'pay', schema: anything }).phases(async ({ atomic }) => {
    await atomic('order_created', (tx) => effect(tx, key));
    if (!isAlive) throw new Error('gone');
    return 'paid';
  });
  await pay.execute({ key, payload: {} });
  isAlive = true;
  await database.client.$executeRaw`UPDATE idempotency_keys
    SET lease_until = now() - interval '1 s', next_attempt_at = now() - interval '1 s' WHERE key = ${key}`;
  return key;
}

/** A settled key whose retention is over, and one whose is not. */
async function settled(idempotency: ReturnType<typeof kit>) {
  const [old, young] = [freshKey(), freshKey()];
  const order = idempotency.operation({ name: 'order', schema: anything }).handler(async () => 'done');
  for (const key of [old, young]) await order.execute({ key, payload: {} });
  await database.client.$executeRaw`UPDATE idempotency_keys
    SET claimed_at = claimed_at - interval '9 days', expires_at = expires_at - interval '9 days' WHERE key = ${old}`;
  return { old, young };
}

const ways: [string, (idempotency: Driven) => Promise<unknown>, (idempotency: Driven) => Promise<unknown>][] = [
  ['as a function', (idempotency) => complete(idempotency), (idempotency) => reap(idempotency)],
  ['by the cron route', (idempotency) => cron(idempotency, 'complete'), (idempotency) => cron(idempotency, 'reap')],
];

test.each(ways)('P6 the completer, once, %s: finishes what was abandoned', async (_, run) => {
  const idempotency = kit(database.client);
  const key = await abandoned(idempotency);
  expect(await run(idempotency)).toMatchObject({ taken: 1, settled: 1 });
  expectCounted(await rowsOf(database.client, key)).toMatchObject([{ state: 'succeeded' }]);
  expectCounted(await effects(database.client, key)).toBe(1);
  expect(await run(idempotency)).toMatchObject({ taken: 0 });
});

test.each(ways)('P6 the reaper, once, %s: deletes what is past its retention', async (_, _run, run) => {
  const idempotency = kit(database.client);
  const { old, young } = await settled(idempotency);
  expect(await run(idempotency)).toMatchObject({ deleted: 1 });
  expectCounted(await rowsOf(database.client, old)).toEqual([]);
  expectCounted(await rowsOf(database.client, young)).toHaveLength(1);
});

test.each(ways)('P4 the completer, once, %s: names an operation that nobody lists', async (_, run) => {
  const key = await abandoned(kit(database.client));
  await database.client.$executeRaw`UPDATE idempotency_keys
    SET lease_until = now() - interval '2 days', next_attempt_at = now() - interval '2 days' WHERE key = ${key}`;
  const onError = vi.fn();
  const idempotency = kit(database.client, { onError });
  expect(await run(idempotency)).toMatchObject({ taken: 0 });
  expect(onError.mock.calls).toMatchObject([[{ name: 'ConfigurationError' }, { operation: 'pay', key }]]);
  await database.client.idempotencyKey.deleteMany({ where: { key } });
});

test('P4 P5 a worker does both by itself', async () => {
  const idempotency = kit(database.client);
  const [key, { old, young }] = [await abandoned(idempotency), await settled(idempotency)];
  const worker = start(database, undefined, { idempotency });
  await vi.waitFor(async () => {
    expectCounted(await rowsOf(database.client, key)).toMatchObject([{ state: 'succeeded' }]);
    expectCounted(await rowsOf(database.client, old)).toEqual([]);
  }, within);
  expectCounted(await rowsOf(database.client, young)).toHaveLength(1);
  await worker.stop();
  expect(worker.lines.toSorted()).toEqual(['complete: 1 taken, 1 settled, 0 unknown, 0 unfinished', 'reap: 1 deleted']);
});

test('P6 a part of the reaper that fails is told, and every other has its turn', async () => {
  const { client } = database;
  const idempotency = kit(client);
  const inbox = createInbox({ prisma: client, retention: 1 });
  const { old } = await settled(idempotency);
  await inbox.receiveOnce({ source: 'bank', eventId: 'evt_1', payload: {} }, async () => {});
  await client.$executeRaw`INSERT INTO idempotency_tallies VALUES (now() - interval '31 days', 'order', 'created', 1)`;
  const left = async () => [
    await rowsOf(client, old),
    await client.inboxEvent.findMany(),
    await client.idempotencyTally.findMany({ where: { bucket: { lt: new Date(Date.now() - 30 * 86_400_000) } } }),
  ];
  await client.$executeRaw`ALTER TABLE idempotency_audit RENAME TO elsewhere`;
  try {
    await expect(reap({ ...idempotency, inbox })).rejects.toThrow(/lacks a table or column/);
    expect(await left()).toEqual([[], [], []]);
    await client.$executeRaw`ALTER TABLE message_events RENAME TO away`;
    await expect(reap({ ...idempotency, inbox })).rejects.toThrow(/lacks a table or column.*oncekit init --messaging/);
  } finally {
    await client.$executeRaw`ALTER TABLE elsewhere RENAME TO idempotency_audit`;
    await client.$executeRaw`ALTER TABLE IF EXISTS away RENAME TO message_events`;
  }
});

test('a worker that is stopped takes no other received event, and finishes those that it has taken', async () => {
  const { client } = database;
  const fail = () => Promise.reject(new Error('not yet'));
  let worker: ReturnType<typeof start> | undefined;
  let begun = 0;
  const handle = async () => {
    begun++;
    void worker?.stop();
  };
  const inbox = createInbox({ prisma: client, sources: { lane: { handle } }, onReport: () => {} });
  for (let n = 0; n < 20; n++) await inbox.receiveOnce({ source: 'lane', eventId: `${n}`, payload: {} }, fail);
  await client.$executeRaw`UPDATE inbox_events SET next_attempt_at = now() - interval '1 s' WHERE source = 'lane'`;
  worker = start(database, undefined, { inbox });
  await worker.ended;
  expect(begun).toBeGreaterThan(0);
  expect(begun).toBeLessThanOrEqual(3);
  const processed = await client.inboxEvent.count({ where: { source: 'lane', state: 'processed' } });
  expectCounted(processed).toBe(begun);
});

test('a worker says at its start that the tables are older than it, and what to run', async () => {
  const { client } = database;
  const mark = (table: string, version: number) =>
    client.$executeRawUnsafe(`COMMENT ON TABLE ${table} IS 'oncekit schema ${version}'`);
  await Promise.all([mark('idempotency_keys', 0), mark('outbox_events', 0)]);
  const idempotency = kit(client);
  const inbox = { retryDue: async () => ({ taken: 0, processed: 0, failed: 0, dead: 0 }), reap: async () => 0 };
  const [keys, both] = [
    start(database, undefined, { idempotency }),
    start(database, undefined, { idempotency, inbox }),
  ];
  await vi.waitFor(() => expect([keys.lines, both.lines].flat()).toHaveLength(3), within);
  expect(keys.lines).toEqual([
    'The database has oncekit keys schema 0, and this worker needs oncekit keys schema 7. Run npx oncekit init, then npx prisma migrate deploy.',
  ]);
  expect(both.lines[1]).toContain('npx oncekit init --messaging');
  await Promise.all([mark('idempotency_keys', 1), mark('outbox_events', 1)]);
});
