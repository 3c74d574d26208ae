import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { startWorkerProcess, type WorkerProcess } from '../../e2e/fixtures/worker-process.ts';
import { type Nats, startNats } from '../../scripts/nats.ts';
import { EVENT_STREAM, natsAddress } from './event-stream-address.ts';
import { openShop } from './shop.testsuite.ts';

let nats: Nats;
let shop: Awaited<ReturnType<typeof openShop>>;
let worker: WorkerProcess;

beforeAll(async () => {
  nats = await startNats();
  vi.stubEnv('NATS_URL', nats.url); // read with the outbox, below
  shop = await openShop();
  await nats.kill();
  const { IDEMPOTENCY_SECRET, STRIPE_API_BASE = '', NATS_URL } = process.env;
  worker = await startWorkerProcess(shop.url, STRIPE_API_BASE, { IDEMPOTENCY_SECRET, NATS_URL });
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

/** What the receiver has of an order's only event, when `isThere`. */
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

/** What the consumer still has to do. */
const openMessages = () =>
  withServer(async (connection) => {
    const { consumers } = await jetstreamManager(connection);
    const { num_pending, num_ack_pending } = await consumers.info(EVENT_STREAM.name, EVENT_STREAM.consumer);
    return num_pending + num_ack_pending;
  });

test('an order reaches the receiver over the stream as soon as the server is there', async () => {
  const first = await order();
  await shop.until(async () => worker.lines.find((line) => line.startsWith('The event stream is away')) ?? null);
  await nats.start();
  expect(await received(first, tookEffect)).toMatchObject(paid);
  expect(worker.lines).toContain('The event stream is back.');
  await shop.until(async () => ((await openMessages()) === 0 ? true : null));
});

test('an effect that fails is not acknowledged: the event comes again, and what is no event does not', async () => {
  const { $executeRawUnsafe: run } = shop.client;
  await run.call(
    shop.client,
    `
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not now'; END $$`,
  );
  await run.call(
    shop.client,
    `
    CREATE TRIGGER refuse BEFORE UPDATE OF effects ON received_events FOR EACH ROW EXECUTE FUNCTION refuse()`,
  );
  await withServer((connection) => jetstream(connection).publish(`${EVENT_STREAM.subject}.order.paid`, 'not json'));
  const id = await order();
  await shop.until(() => shop.client.inboxEvent.findFirst({ where: { state: 'failed' } }));
  expect(await received(id, () => true)).toMatchObject({ effects: 0 });
  await run.call(shop.client, 'DROP TRIGGER refuse ON received_events');
  expect(await received(id, ({ streams }) => streams > 1)).toMatchObject({ streams: 2 });
  await shop.until(async () => ((await openMessages()) === 0 ? true : null));
  expect(await received(id, () => true)).toMatchObject({ streams: 2, effects: 1 });
});

test('a server that was killed gets the next order when it is back', async () => {
  await nats.kill();
  const id = await order();
  await nats.start();
  expect(await received(id, tookEffect)).toMatchObject(paid);
});

test('the worker stops with the stream open, and leaves nothing', async () => {
  await worker.stop();
  expect(worker.lines.at(-1)).toContain('finishes what is running');
});

test.each([
  ['nats://127.0.0.1:4222', { servers: ['127.0.0.1:4222'] }],
  ['nats://shop:p%40ss@a:4222, nats://b', { servers: ['a:4222', 'b'], user: 'shop', pass: 'p@ss' }],
  ['tls://t0ken@nats.example.com', { servers: ['nats.example.com'], token: 't0ken', tls: {} }],
])('the address %s', (address, expected) => {
  expect(natsAddress(address)).toEqual(expected);
});
