/** @module-tag pgbouncer */
import { readFileSync } from 'node:fs';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type PgBouncer, startPgBouncer } from '../../scripts/services/pgbouncer.ts';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { type Client, createClient } from '../../shop/db.ts';
import { Provider } from '../engine/phases/phases.fixture.ts';
import { anything, effect, effects, freshKey, gate, kit, rowsOf, type Tx } from '../integration/kit.fixture.ts';
import { announce, deliveries, destination, outboxOn } from '../messaging/messaging.fixture.ts';
import { createInbox } from '../messaging/prisma.ts';
import type { Driven } from '../worker/passes.ts';
import { cronRoute } from './cron-route.ts';

/**
 * A host without processes of its own: no worker, a pooler in transaction mode for all there is to say, and a clock that
 * calls the cron route. See docs/deployment.md.
 */

let database: TestDatabase;
let bouncer: PgBouncer;
let client: Client;

beforeAll(async () => {
  database = await testDatabase();
  bouncer = await startPgBouncer(database.url, { connections: 2 });
  client = createClient(bouncer.url, { max: 5 });
});
afterAll(async () => {
  await client?.$disconnect();
  await bouncer?.close();
  await database?.drop();
});

/** The clock's call. */
async function call(driven: Driven, task: string, options: { maxMs?: number } = {}): Promise<unknown> {
  const request = new Request(`https://shop.example/api/cron/${task}`, { headers: { authorization: 'Bearer s' } });
  const response = await cronRoute(driven, { secret: 's', ...options }).GET(request);
  return { status: response.status, ...(await response.json()) };
}

/** The lease of whoever went silent is over. */
const leaseEnds = (key: string) => database.client.$executeRaw`UPDATE idempotency_keys
  SET lease_until = now() - interval '1 s', next_attempt_at = now() - interval '1 s' WHERE key = ${key}`;

/** Whole weeks later: retentions are over. */
const weeksPass = (key: string) => database.client.$executeRaw`UPDATE idempotency_keys
  SET claimed_at = claimed_at - interval '30 days', expires_at = expires_at - interval '30 days' WHERE key = ${key}`;

describe('without a worker, through a pooler in transaction mode', () => {
  test('the cron route alone finishes phases, sends events, runs received ones again, and reaps', async () => {
    const provider = new Provider();
    const sink = destination();
    const outbox = outboxOn(client, [sink.route], { wake: false });
    const key = freshKey();
    let fails = true;
    const book = async (tx: Tx) => {
      await effect(tx, `${key} booked`);
      if (fails) throw new Error('not yet');
    };
    const inbox = createInbox({
      prisma: client,
      sources: { bank: { handle: book } },
      backoff: { baseMs: 1, capMs: 1 },
      onReport: () => {},
    });
    const idempotency = kit(client);
    const driven = { ...idempotency, outbox, inbox };
    let isAlive = false;
    const pay = idempotency.operation({ name: 'pay', schema: anything }).phases(async ({ atomic, foreign, scope }) => {
      await atomic('created', (tx) => effect(tx, key));
      const { id } = await foreign('charged', provider.call(key));
      if (!isAlive) throw new Error('the function was ended');
      const event = { type: 'order.paid', aggregate: `order:${key}`, payload: { id } };
      await atomic('announced', async (tx) => void (await outbox.enqueue(tx, event, { key, scope })));
      return id;
    });

    await pay.execute({ key, payload: {} });
    expectCounted(await rowsOf(client, key)).toMatchObject([{ state: 'in_progress' }]);
    await leaseEnds(key);
    isAlive = true;
    expect(await call(driven, 'complete')).toMatchObject({ status: 200, taken: 1, settled: 1 });
    expectCounted([await effects(client, key), provider.count(key)]).toEqual([1, 1]);

    expect(await call(driven, 'relay')).toMatchObject({ status: 200, delivered: 1 });
    expect([sink.sent.length, (await deliveries(client)).map(({ state }) => state)]).toEqual([1, ['delivered']]);
    // Nobody takes jobs here, so none may pile up.
    expect(await client.$queryRaw`SELECT id FROM graphile_worker.jobs`).toEqual([]);

    expect(await inbox.receiveOnce({ source: 'bank', eventId: 'evt', payload: {} })).toMatchObject({ kind: 'failed' });
    fails = false;
    await database.client.$executeRaw`UPDATE inbox_events SET next_attempt_at = now() - interval '1 s'`;
    expect(await call(driven, 'inbox')).toMatchObject({ status: 200, taken: 1, processed: 1 });
    expectCounted(await effects(client, `${key} booked`)).toBe(1);

    await weeksPass(key);
    expect(await call(driven, 'reap')).toMatchObject({ status: 200, deleted: 1 });
    expectCounted(await rowsOf(client, key)).toEqual([]);
    for (const task of ['complete', 'relay', 'inbox', 'reap']) {
      expect(Object.values((await call(driven, task)) as object).filter((figure) => figure > 0)).toEqual([200]);
    }
  });

  test('two calls at once share the work: each abandoned key is finished once', async () => {
    const idempotency = kit(client);
    const both = gate();
    let isAlive = false;
    let runs = 0;
    const slow = idempotency.operation({ name: 'slow', schema: anything }).phases(async ({ atomic, key }) => {
      if (!isAlive) throw new Error('the function was ended');
      if (++runs === 2) both.open();
      await both.opened;
      await atomic('done', (tx) => effect(tx, key));
    });
    const keys = [freshKey(), freshKey()];
    for (const key of keys) await slow.execute({ key, payload: {} });
    for (const key of keys) await leaseEnds(key);
    isAlive = true;
    const figures = (await Promise.all([call(idempotency, 'complete'), call(idempotency, 'complete')])) as {
      settled: number;
    }[];
    expect(figures.reduce((sum, { settled }) => sum + settled, 0)).toBe(2);
    for (const key of keys) expectCounted(await effects(client, key)).toBe(1);
  });
});

describe('a call whose time is over', () => {
  const maxMs = 12_345;
  let over: AbortController;
  beforeEach(() => {
    over = new AbortController();
    const timeout = AbortSignal.timeout.bind(AbortSignal);
    vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => (ms === maxMs ? over.signal : timeout(ms)));
  });
  afterEach(() => void vi.restoreAllMocks());

  test('goes on with what it sends, and begins nothing more: a slow destination gets each event once', async () => {
    const sink = destination();
    sink.behave = () => over.abort();
    const outbox = outboxOn(client, [sink.route], { wake: false });
    await client.outboxEvent.deleteMany();
    for (const aggregate of ['a', 'b']) await announce(client, outbox, aggregate, 2);
    expect(await call({ ...kit(client), outbox }, 'relay', { maxMs })).toMatchObject({
      delivered: 2,
      failed: 0,
      unfinished: 0,
    });
    expectCounted([sink.order('a'), sink.order('b')]).toEqual([[1], [1]]);
    expect((await deliveries(client)).map(({ state, attempts }) => [state, attempts])).toEqual([
      ['delivered', 1],
      ['pending', 0],
      ['delivered', 1],
      ['pending', 0],
    ]);
  });

  test('finishes the keys that it drives, and takes no other', async () => {
    const idempotency = kit(client);
    let isAlive = false;
    const slow = idempotency.operation({ name: 'slower', schema: anything }).phases(async ({ atomic, key }) => {
      if (!isAlive) throw new Error('the function was ended');
      await atomic('begun', async () => {});
      over.abort();
      await atomic('done', (tx) => effect(tx, key));
    });
    const key = freshKey();
    await slow.execute({ key, payload: {} });
    await leaseEnds(key);
    isAlive = true;
    expect(await call(idempotency, 'complete', { maxMs })).toMatchObject({ taken: 1, settled: 1, unfinished: 0 });
    expectCounted(await effects(client, key)).toBe(1);
  });

  test('takes no other received event', async () => {
    let begun = 0;
    const handle = async () => {
      begun++;
      over.abort();
    };
    const inbox = createInbox({
      prisma: client,
      sources: { slow: { handle } },
      timeoutMs: 60_000,
      backoff: { baseMs: 1, capMs: 1 },
      onReport: () => {},
    });
    const fail = () => Promise.reject(new Error('not yet'));
    await client.inboxEvent.deleteMany();
    for (let n = 0; n < 20; n++) await inbox.receiveOnce({ source: 'slow', eventId: `${n}`, payload: {} }, fail);
    await client.$executeRaw`UPDATE inbox_events SET next_attempt_at = now() - interval '1 s'`;
    const figures = await call({ ...kit(client), inbox }, 'inbox', { maxMs });
    expect(begun).toBeLessThanOrEqual(3);
    expect(figures).toMatchObject({ taken: begun, processed: begun, failed: 0 });
  });
});

describe('the line for pg_cron', () => {
  /** To the letter what the page says, without the clock around it. */
  const page = readFileSync(new URL('../../docs/deployment.md', import.meta.url), 'utf8');
  const [, reaper = ''] = /cron\.schedule\('oncekit reaper',[^$]*\$\$([\s\S]*?)\$\$\)/.exec(page) ?? [];
  const [, tallies = ''] = /cron\.schedule\('oncekit tallies',[^$]*\$\$([\s\S]*?)\$\$\)/.exec(page) ?? [];

  test('deletes what the reaper deletes, with its steps and events, and nothing else', async () => {
    const idempotency = kit(database.client);
    let isAlive = true;
    const pay = idempotency.operation({ name: 'cron', schema: anything }).phases(async ({ atomic, key }) => {
      await atomic('done', (tx) => effect(tx, key));
      if (!isAlive) throw new Error('gone');
    });
    const [old, young, open] = [freshKey(), freshKey(), freshKey()];
    await pay.execute({ key: old, payload: {} });
    await pay.execute({ key: old, payload: { other: true } }); // leaves an event
    await pay.execute({ key: young, payload: {} });
    isAlive = false;
    await pay.execute({ key: open, payload: {} });
    await weeksPass(old);
    await weeksPass(open);
    await database.client.$executeRawUnsafe(reaper);
    const left = await Promise.all([old, young, open].map(async (key) => (await rowsOf(database.client, key)).length));
    expect(left).toEqual([0, 1, 1]);
    const count = async (table: 'idempotencyPhase' | 'idempotencyEvent', key: string) =>
      await (database.client[table] as Client['idempotencyPhase']).count({ where: { key } });
    expect([await count('idempotencyPhase', old), await count('idempotencyEvent', old)]).toEqual([0, 0]);
    expect([await count('idempotencyPhase', young), await count('idempotencyPhase', open)]).toEqual([1, 1]);
    expectCounted(await effects(database.client, old)).toBe(1);
  });

  test('beside the kit’s own reaper: neither waits for the other, nor for a row that somebody holds', async () => {
    const idempotency = kit(database.client);
    const order = idempotency.operation({ name: 'beside', schema: anything }).handler(async () => 'done');
    const keys = Array.from({ length: 20 }, freshKey);
    for (const key of keys) await order.execute({ key, payload: {} });
    for (const key of keys) await weeksPass(key);
    const holder = new pg.Client({ connectionString: database.url });
    await holder.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT 1 FROM idempotency_keys WHERE key = $1 FOR UPDATE', [keys[7]]);
    await Promise.all([database.client.$executeRawUnsafe(reaper), idempotency.reap()]);
    const left = await database.client.idempotencyKey.findMany({ where: { key: { in: keys } } });
    expect(left.map(({ key }) => key)).toEqual([keys[7]]);
    await holder.query('COMMIT');
    await holder.end();
    await database.client.$executeRawUnsafe(reaper);
    expect(await database.client.idempotencyKey.count({ where: { key: { in: keys } } })).toBe(0);
  });

  test('the chart’s figures go after thirty days', async () => {
    const { client } = database;
    await client.$executeRaw`INSERT INTO idempotency_tallies VALUES
      (now() - interval '31 days', 'cron', 'created', 1), (now(), 'cron', 'created', 1)`;
    await client.$executeRawUnsafe(tallies);
    expect(await client.idempotencyTally.count({ where: { operation: 'cron' } })).toBe(1);
  });
});
