import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { ANN, anything, freshKey, kit } from '../integration/kit.fixture.ts';
import { destination, outboxOn } from '../messaging/messaging.fixture.ts';
import { createAdmin } from './index.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());

const idOf = (key: string, operation = 'pay') => ({ ...ANN, operation, key });
const admin = () => createAdmin({ prisma: database.client, namespace: 'shop' });

/** Runs calls, and has what they are counted as written down. */
async function counted(calls: () => Promise<void>) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  await calls();
  await vi.advanceTimersByTimeAsync(10_000);
  vi.useRealTimers();
}

// First, so that no other test's calls are counted with it.
test('how calls ended is told in buckets, and what was prevented in all', async () => {
  const since = new Date();
  const idempotency = kit(database.client);
  const order = idempotency
    .operation({ name: 'tallied', schema: anything })
    .handler(async ({ input, fail }) => (input.declined ? fail('declined') : 'done'));
  const [key, refused] = [freshKey(), freshKey()];
  await counted(async () => {
    for (let i = 0; i < 3; i++) await order.execute({ key, payload: {} });
    for (let i = 0; i < 2; i++) await order.execute({ key: refused, payload: { declined: true } });
    await order.execute({ key, payload: { other: true } });
    await order.execute({ key: 'no key, this', payload: {} });
  });
  const { rows } = await admin().listKeys({ operation: 'tallied', sort: 'oldest', limit: 5, offset: 0 });
  expect(rows.map(({ state, reason }) => [state, reason])).toEqual([
    ['succeeded', null],
    ['failed', 'declined'],
  ]);
  const told = async () => {
    const buckets = (await admin().outcomes(since)).filter(({ operation }) => operation === 'tallied');
    return Object.fromEntries(buckets.map(({ outcome, count }) => [outcome, count]));
  };
  await expect.poll(told).toEqual({ created: 1, replayed: 3, failed: 1, mismatch: 1 });
  expect(await admin().overview()).toMatchObject({ duplicatesPrevented: 3 }); // not what differed

  const day = (days: number) => new Date(Date.now() - days * 86_400_000);
  const row = { operation: 'tallied', outcome: 'created', count: 1 };
  await database.client.idempotencyTally.createMany({ data: [29, 31].map((days) => ({ ...row, bucket: day(days) })) });
  expect(await idempotency.reap()).toBe(0);
  expect((await admin().outcomes(day(60))).map(({ outcome }) => outcome)).toHaveLength(1 + 4);
});

test('M1 a key shows the events that it has announced, and no others; an app without an outbox none', async () => {
  const outbox = outboxOn(database.client, [destination().route], { namespace: 'shop' });
  const event = (type: string) => ({ type, aggregate: 'order:ö', payload: { secret: 1 } });
  const pay = kit(database.client)
    .operation({ name: 'pay', schema: anything })
    .handler(async ({ tx, ...from }) => {
      await outbox.enqueue(tx, event('order.paid'), from);
      await outbox.enqueue(tx, event('order.packed'), from);
      await outbox.enqueue(tx, event('order.nobody'));
    });
  const [key, other] = [freshKey(), freshKey()];
  for (const one of [key, other]) expect(await pay.execute({ key: one, payload: {} })).toMatchObject({ ok: true });
  const detail = await admin().findKey(idOf(key));
  const rows = await database.client.outboxEvent.findMany({ orderBy: { sequence: 'asc' } });
  expect(detail?.outboxEvents).toEqual(
    rows.slice(0, 2).map(({ id, type, createdAt }) => ({ eventId: id, type, createdAt })),
  );
  const elsewhere = createAdmin({ prisma: database.client });
  expect(await elsewhere.findKey(idOf(key)), 'of another namespace').toMatchObject({ outboxEvents: [] });

  await database.client.$executeRaw`ALTER TABLE outbox_events RENAME TO no_outbox_events`;
  expect(await admin().findKey(idOf(key))).toMatchObject({ state: 'succeeded', outboxEvents: [] });
  await database.client.$executeRaw`ALTER TABLE no_outbox_events RENAME TO outbox_events`;
});

test('a mismatch shows how the other payload differs: by the first bytes of its fingerprint', async () => {
  const pay = kit(database.client)
    .operation({ name: 'pay', schema: anything })
    .handler(async () => 'done');
  const [key, other] = [freshKey(), freshKey()];
  await pay.execute({ key, payload: { cents: 100 } });
  await pay.execute({ key: other, payload: { cents: 200 } });
  expect(await pay.execute({ key, payload: { cents: 200 } })).toMatchObject({ code: 'payload_mismatch' });
  const [mine, others] = [await admin().findKey(idOf(key)), await admin().findKey(idOf(other))];
  expect(mine?.events).toMatchObject([
    { type: 'payload_mismatch', detail: { fingerprint: others?.fingerprintPrefix } },
  ]);
  expect(mine?.fingerprintPrefix).not.toBe(others?.fingerprintPrefix);
});

test('a key shows the trace of its first run, where there is one', async () => {
  const pay = kit(database.client)
    .operation({ name: 'pay', schema: anything })
    .handler(async () => 'done');
  const key = freshKey();
  await pay.execute({ key, payload: {} });
  expect(await admin().findKey(idOf(key))).toMatchObject({ traceId: null });
  const traceParent = `00-${'a1'.repeat(16)}-${'b2'.repeat(8)}-01`;
  await database.client.idempotencyKey.updateMany({ where: { key }, data: { traceParent } });
  expect(await admin().findKey(idOf(key))).toMatchObject({ traceId: 'a1'.repeat(16) });
});

test('stuck is what nobody works at, what is old, and what waits for a person; nothing that is young and alive', async () => {
  const open = (key: string, more: string) =>
    database.client.$executeRawUnsafe(`
    INSERT INTO idempotency_keys (tenant, principal, operation, key, expires_at, claimed_at, state, lease_until,
                                  next_attempt_at, needs_attention)
    VALUES ('acme', 'ann', 'stuck', '${key}', now() + interval '1 day', ${more})`);
  const live = `now() + interval '1 min', now() + interval '1 min', false`;
  await open('young', `now(), 'in_progress', ${live}`);
  await open('asked', `now(), 'unknown', NULL, now() + interval '1 min', false`);
  await open('old', `now() - interval '61 s', 'in_progress', ${live}`);
  await open('left', `now() - interval '2 s', 'in_progress', now() - interval '1 s', now() - interval '1 s', false`);
  await open('given-up', `now() - interval '1 s', 'unknown', NULL, NULL, true`);
  const stuck = { operation: 'stuck', stuck: true, limit: 10, offset: 0 };
  const names = async (patient = admin()) => (await patient.listKeys(stuck)).rows.map(({ key }) => key);
  expect(await names()).toEqual(['given-up', 'left', 'old']);
  expect(await admin().overview()).toMatchObject({ stuck: 3, counts: { in_progress: 3, unknown: 2 } });
  const patient = createAdmin({ prisma: database.client, stuckAfterMs: 120_000 });
  expect(await names(patient)).toEqual(['given-up', 'left']);
  expect(await patient.overview()).toMatchObject({ stuck: 2 });
});

test('a key says how often it was answered again, and what; a poll of its status is none of that', async () => {
  const on = kit(database.client);
  const order = on
    .operation({ name: 'order', schema: anything, oncePer: ({ input }) => String(input.cart) })
    .handler(async ({ input, fail }) => (input.declined ? fail('declined') : 'done'));
  const charge = on.operation({ name: 'charge', schema: anything }).phases(async ({ foreign }) => {
    const send = () => Promise.reject(new Error('no answer'));
    return await foreign('charged', {
      arguments: {},
      send,
      indeterminate: 'unknown',
      providerKeyTtlMs: 0,
      maxTries: 1,
    });
  });
  const [key, second, refused, given] = [freshKey(), freshKey(), freshKey(), freshKey()];
  const [unused, doubtful] = [freshKey(), freshKey()];
  const [cart, declined] = [{ cart: 'a' }, { cart: 'b', declined: true }];
  await counted(async () => {
    for (let n = 0; n < 3; n++) await order.execute({ key, payload: cart });
    await order.execute({ key: second, payload: cart });
    for (let n = 0; n < 2; n++) await order.execute({ key, payload: { cart: 'c' } });
    for (let n = 0; n < 2; n++) await order.execute({ key: refused, payload: declined });
    await order.fence({ key: given });
    await order.execute({ key: given, payload: cart });
    await order.execute({ key: unused, payload: { cart: 'd' } });
    for (let n = 0; n < 3; n++) await charge.execute({ key: doubtful, payload: {} });
    for (const [each, of] of [
      [order, key],
      [order, unused],
      [charge, doubtful],
    ] as const)
      await each.status({ key: of });
  });
  const told = async (of: string, operation = 'order') => {
    const events = (await admin().findKey(idOf(of, operation)))?.events ?? [];
    return events.flatMap(({ type, detail }) => (detail?.times ? [`${type} ${detail.times}`] : [])).sort();
  };
  await expect.poll(() => told(key)).toEqual(['payload_mismatch 2', 'replayed 3']);
  expect(await told(refused)).toEqual(['replayed 1']);
  expect(await told(given)).toEqual(['key_abandoned 1']);
  expect(await told(unused)).toEqual([]);
  expect(await told(doubtful, 'charge'), 'the first is no repeat').toEqual(['outcome_unknown 2']);
  expect(await admin().findKey(idOf(second, 'order')), 'its answer was the one of the holder').toBeNull();
});
