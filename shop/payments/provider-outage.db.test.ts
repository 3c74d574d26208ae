import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { movedTime } from '../../lib/integration/moved-time.fixture.ts';
import { freePort } from '../../scripts/services/ports.ts';
import { type SupervisedChild, spawnChild } from '../../scripts/services/process.ts';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { until } from '../../scripts/testing/until.ts';
import { openShop } from '../shop.fixture.ts';

// A gateway in a process of its own, which is killed and started again. The outage's time passes by the rows, and by this
// process's clock, by which the circuit breaker waits.
const MINUTE = 60_000;
const DAY = 86_400_000;

let folder: string;
let port: number;
let child: SupervisedChild | undefined;
let shop: Awaited<ReturnType<typeof openShop>>;
let time: ReturnType<typeof movedTime>;

async function up(): Promise<void> {
  child = spawnChild({
    name: 'gateway',
    command: process.execPath,
    args: ['--import', 'tsx', 'simulators/gateway/main.ts'],
    env: { GATEWAY_PORT: String(port), GATEWAY_DATA: folder, GATEWAY_WEBHOOK_URL: undefined },
  });
  const ledger = `http://127.0.0.1:${port}/_ledger`;
  await until('the gateway answers', async () => (await fetch(ledger).catch(() => undefined)) !== undefined);
}

async function down(): Promise<void> {
  await child?.stop();
  child = undefined;
}

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'oncekit-outage-'));
  port = await freePort();
  await up();
  shop = await openShop({ gateway: { url: `http://127.0.0.1:${port}`, close: down } });
  vi.spyOn(console, 'error').mockImplementation(() => {}); // the shop reports each failure
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
  time = movedTime(shop.client, (ms) => vi.setSystemTime(Date.now() + ms));
});
afterAll(async () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  await shop?.close();
  await down();
  await rm(folder, { recursive: true, force: true });
});

const rowOf = (key: string) => shop.client.idempotencyKey.findFirstOrThrow({ where: { key } });
const stepOf = (key: string) =>
  shop.client.idempotencyPhase.findFirstOrThrow({ where: { key, name: 'charge_created' } });

async function expectPaidOnce(key: string): Promise<void> {
  expect(await rowOf(key)).toMatchObject({ state: 'succeeded', needsAttention: false });
  const order = await shop.client.order.findFirstOrThrow({ where: { idempotencyKey: key } });
  expect(order.status).toBe('paid');
  expectCounted((await shop.moved(order.id)).charges).toHaveLength(1);
}

test('a gateway that is gone for 14 minutes, and then for two days: nothing is in doubt, and the checkout is paid once', {
  tags: 'all',
  timeout: 180_000,
}, async () => {
  const [cart, key] = [await shop.cart(), randomUUID()];
  await down();
  expect(await shop.place(cart, { key })).toMatchObject({ ok: false, code: 'unavailable' });
  await time.work(shop.idempotency, key, 14 * MINUTE);
  expect(await rowOf(key)).toMatchObject({ state: 'in_progress', needsAttention: false });
  await time.pass(key, 2 * DAY);
  expect(await shop.idempotency.completeDue()).toMatchObject({ taken: 1, unfinished: 1 });
  expect(await rowOf(key)).toMatchObject({ state: 'in_progress', needsAttention: true });
  const { sends, notExecuted } = await stepOf(key);
  expect(sends).toBeGreaterThan(10);
  expect(notExecuted).toBe(sends);
  await up();
  await time.work(shop.idempotency, key, 60 * MINUTE);
  await expectPaidOnce(key);
});

test('a gateway that charges, says nothing, and is gone for two days: found when it is back, and charged once', async () => {
  const [cart, key] = [await shop.cart(), randomUUID()];
  await shop.break({ kind: 'lose-answer', path: '/v1/payment_intents', times: 4 });
  expect(await shop.place(cart, { key })).toMatchObject({ ok: false, code: 'unavailable' });
  await down();
  await time.work(shop.idempotency, key, MINUTE);
  await time.pass(key, 2 * DAY);
  expect(await shop.idempotency.completeDue()).toMatchObject({ taken: 1, unknown: 1 });
  expect(await rowOf(key)).toMatchObject({ state: 'unknown', needsAttention: true });
  const { sends } = await stepOf(key);
  await up();
  await time.work(shop.idempotency, key, 60 * MINUTE);
  await expectPaidOnce(key);
  expect(await stepOf(key)).toMatchObject({ sends });
}, 180_000);
