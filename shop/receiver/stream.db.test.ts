/** @module-tag nats */
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, headers, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { SECRETS } from '../../e2e/fixtures/app-process.ts';
import { type Nats, startNats } from '../../scripts/services/nats.ts';
import { type SupervisedChild, spawnChild } from '../../scripts/services/process.ts';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { EVENT_STREAM, natsAddress } from '../nats/address.ts';
import { openShop } from '../shop.fixture.ts';

let nats: Nats;
let shop: Awaited<ReturnType<typeof openShop>>;
let worker: SupervisedChild;
const lines: string[] = [];

beforeAll(async () => {
  nats = await startNats();
  vi.stubEnv('NATS_URL', nats.url); // read with the outbox, below
  shop = await openShop();
  await nats.kill();
  const { IDEMPOTENCY_SECRET, STRIPE_API_BASE = '', NATS_URL } = process.env;
  worker = spawnChild({
    name: 'worker',
    command: process.execPath,
    args: ['--import', 'tsx', 'scripts/worker.ts'],
    env: { ...SECRETS, DATABASE_URL: shop.url, STRIPE_API_BASE, IDEMPOTENCY_SECRET, NATS_URL },
    onLine: (line) => lines.push(line),
    log: (line) => lines.push(line),
  });
  await vi.waitUntil(() => lines.some((line) => line.startsWith('The worker runs')), 25_000);
});
afterAll(async () => {
  await worker?.stop();
  await shop?.close();
  await nats?.close();
  vi.unstubAllEnvs();
});

async function order(): Promise<string> {
  const outcome = await shop.place(await shop.cart());
  return outcome.ok ? outcome.data.id : expect.unreachable(JSON.stringify(outcome));
}

/** The receiver's row of an order's only event, when `isThere`. */
const received = (orderId: string, isThere: (row: { streams: number; effects: number }) => boolean) =>
  shop.until(async () => {
    const row = await shop.client.receivedEvent.findFirst({ where: { aggregate: `order:${orderId}` } });
    return row && isThere(row) ? row : null;
  });
const tookEffect = ({ effects }: { effects: number }) => effects > 0;
const paid = { type: 'order.paid', sequence: 1, streams: 1, webhooks: 0, effects: 1 };

async function withServer<T>(use: (connection: NatsConnection) => Promise<T>): Promise<T> {
  const connection = await connect(natsAddress(nats.url));
  try {
    return await use(connection);
  } finally {
    await connection.drain();
  }
}

/** The messages that the consumer has not handled. */
const openMessages = () =>
  withServer(async (connection) => {
    const { consumers } = await jetstreamManager(connection);
    const { num_pending, num_ack_pending } = await consumers.info(EVENT_STREAM.name, EVENT_STREAM.consumer);
    return num_pending + num_ack_pending;
  });

test('an order reaches the receiver over the stream as soon as the server is there', async () => {
  const first = await order();
  await shop.until(async () => lines.find((line) => line.startsWith('The event stream is away')) ?? null);
  await nats.start();
  expect(await received(first, tookEffect)).toMatchObject(paid);
  expect(lines).toContain('The event stream is back.');
  await shop.until(async () => ((await openMessages()) === 0 ? true : null));
});

const run = (sql: string) => shop.client.$executeRawUnsafe(sql);

test('an effect that fails is not acknowledged: the event comes again', async () => {
  await run(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not now'; END $$`);
  await run('CREATE TRIGGER refuse BEFORE UPDATE OF effects ON received_events FOR EACH ROW EXECUTE FUNCTION refuse()');
  const id = await order();
  await shop.until(() => shop.client.inboxEvent.findFirst({ where: { state: 'failed' } }));
  expect(await received(id, () => true)).toMatchObject({ effects: 0 });
  await run('DROP TRIGGER refuse ON received_events');
  await received(id, ({ streams, effects }) => streams > 1 && effects > 0);
  await shop.until(async () => ((await openMessages()) === 0 ? true : null));
  expect(await received(id, () => true)).toMatchObject({ effects: 1 });
});

test('what is no event, or none that the database holds, does not come again', async () => {
  const event = { 'event-id': 'x', 'event-type': 'order.paid', 'event-aggregate': 'a', 'event-sequence': '1' };
  const time = { 'event-time': new Date().toISOString() };
  await withServer(async (connection) => {
    const stream = jetstream(connection);
    const publish = async (payload: string, from: Record<string, string>) => {
      const said = headers();
      for (const [name, value] of Object.entries(from)) said.set(name, value);
      await stream.publish(`${EVENT_STREAM.subject}.order.paid`, payload, { headers: said });
    };
    await publish('not json', {});
    await publish('not json', { ...event, ...time });
    await publish('{}', { ...event, ...time, 'event-sequence': '3000000000' });
    await publish('{}', { ...event, ...time, 'event-aggregate': 'a%00' });
    await publish('"\\ud800"', { ...event, ...time, 'event-id': 'y' });
  });
  await shop.until(async () => ((await openMessages()) === 0 ? true : null));
  expectCounted(await shop.client.receivedEvent.count({ where: { id: 'x' } })).toBe(0);
  expectCounted(await shop.client.receivedEvent.count({ where: { effects: 0 } })).toBe(1); // y, which came
});

test('what cannot be received is said once, and tried again', async () => {
  await run('CREATE SEQUENCE tries'); // rolls nothing back
  await run(`CREATE FUNCTION count_and_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM nextval('tries'); RAISE 'never'; END $$`);
  await run('CREATE TRIGGER refuse BEFORE INSERT ON received_events FOR EACH ROW EXECUTE FUNCTION count_and_refuse()');
  const id = await order();
  const tries = () => shop.client.$queryRaw<{ tries: number }[]>`SELECT last_value::int AS tries FROM tries`;
  await shop.until(async () => ((await tries())[0]?.tries === 2 ? true : null));
  await run('DROP TRIGGER refuse ON received_events');
  expect(await received(id, tookEffect)).toMatchObject(paid);
  expect(lines.filter((line) => line.includes('cannot be received'))).toHaveLength(1);
});

test('a server that was killed gets the next order when it is back', async () => {
  await nats.kill();
  const id = await order();
  await nats.start();
  expect(await received(id, tookEffect)).toMatchObject(paid);
});

test('the worker ends by itself with the stream open', async () => {
  await worker.stop();
  expect(await worker.ended, lines.join('\n')).toBe(0);
  expect(lines.join('\n')).toContain('finishes what is running');
});

test.each([
  ['nats://127.0.0.1:4222', { servers: ['127.0.0.1:4222'] }],
  ['nats://shop:p%40ss@a:4222, nats://b', { servers: ['a:4222', 'b'], user: 'shop', pass: 'p@ss' }],
  ['tls://t0ken@nats.example.com', { servers: ['nats.example.com'], token: 't0ken', tls: {} }],
])('the address %s', (address, expected) => {
  expect(natsAddress(address)).toEqual(expected);
});
