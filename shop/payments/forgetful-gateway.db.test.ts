import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { prismaStore } from '../../lib/store/prisma/store.ts';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { openShop, untilFinal } from '../shop.fixture.ts';

// A provider that forgets a key at once, which the shop knows: whatever it is not told, it has to ask for.
let shop: Awaited<ReturnType<typeof openShop>>;
beforeAll(async () => {
  shop = await openShop({ keyTtlMs: 1 });
});
beforeEach(() => shop.asked());
afterEach(async () => expect(await shop.unspent()).toBe(0));
afterAll(() => shop.close());

const CHARGE = 'POST /v1/payment_intents';
const REFUND = 'POST /v1/refunds';

async function paidOrder() {
  const [cart, key] = [await shop.cart(), randomUUID()];
  const outcome = await untilFinal(() => shop.place(cart, { key }));
  if (!outcome.ok) throw new Error(JSON.stringify(outcome));
  return outcome.data.id;
}

const dueNow = (key: string) =>
  shop.client.$executeRaw`UPDATE idempotency_keys SET next_attempt_at = now() - interval '1 s' WHERE key = ${key}`;

const sends = async (request: string) => (await shop.asked()).filter((each) => each === request).length;

test('a charge whose answer is lost is looked up, not sent again', async () => {
  await shop.break({ kind: 'lose-answer', path: '/v1/payment_intents' });
  const order = await paidOrder();
  expect(await sends(CHARGE)).toBe(1);
  expectCounted((await shop.moved(order)).charges).toHaveLength(1);
});

test('a decline whose answer is lost is looked up: refused, goods back, and the card is not tried again', async () => {
  const before = await shop.stock('notebook');
  const cart = await shop.cart('notebook');
  await shop.break({ kind: 'lose-answer', path: '/v1/payment_intents' });
  const key = randomUUID();
  const outcome = await shop.place(cart, { key, card: 'pm_card_chargeDeclined' });
  expect(outcome).toMatchObject({ ok: false, code: 'failed', reason: 'card_declined' });
  // Nothing was charged, so nobody is called.
  expect(await shop.client.idempotencyKey.findFirst({ where: { key } })).toMatchObject({ needsAttention: false });
  expect(await sends(CHARGE)).toBe(1);
  expect(await shop.stock('notebook')).toBe(before);
  expect(await shop.place(cart)).toMatchObject({ ok: true });
});

test('a refund of an order whose charge nobody knows of is put off until it is known', async () => {
  const [cart, key] = [await shop.cart(), randomUUID()];
  await shop.break({ kind: 'lose-answer', path: '/v1/payment_intents' });
  await shop.break({ kind: 'down', path: '/v1/payment_intents/search' });
  expect(await shop.place(cart, { key })).toMatchObject({ code: 'outcome_unknown' });
  const { id } = await shop.client.order.findUniqueOrThrow({ where: { cartId: cart } });
  expect(await shop.giveBack(id, '5.00')).toMatchObject({ code: 'failed', reason: 'payment_unknown' });
  await shop.heal();
  await dueNow(key); // the charge's next look-up
  expect(await shop.idempotency.completeDue()).toMatchObject({ settled: 1 });
  expect(await shop.giveBack(id, '5.00')).toMatchObject({ ok: true });
  const { charges, refunds } = await shop.moved(id);
  expectCounted([charges.length, refunds.length]).toEqual([1, 1]);
});

test('a refund whose answer is lost is looked up, not sent again', async () => {
  const order = await paidOrder();
  await shop.break({ kind: 'lose-answer', path: '/v1/refunds' });
  expect(await shop.giveBack(order, '5.00')).toMatchObject({ ok: true });
  expect(await sends(REFUND)).toBe(1);
  expect((await shop.moved(order)).refunds).toHaveLength(1);
});

test.each([
  ['charge', 'checkout', '/v1/payment_intents', '/v1/payment_intents/search'],
  ['refund', 'refund', '/v1/refunds', '/v1/refunds'],
])(
  'a %s that never happened is looked up, and sent again at a person’s word alone',
  async (_, operation, path, asked) => {
    const order = operation === 'refund' ? await paidOrder() : undefined;
    const [cart, key] = [await shop.cart(), randomUUID()];
    const act = () => (order ? shop.giveBack(order, '5.00', { key }) : shop.place(cart, { key }));
    await shop.asked();
    await shop.break({ kind: 'error-before', method: 'POST', path });
    await shop.break({ kind: 'down', method: 'GET', path: asked });
    expect(await act()).toMatchObject({ code: 'outcome_unknown' });
    await shop.heal();
    await dueNow(key);
    expect(await shop.idempotency.completeDue()).toMatchObject({ unknown: 1 });
    expect(await sends(`POST ${path}`)).toBe(1);

    const store = prismaStore(shop.client);
    const id = { ...shop.ada, operation, key };
    const seen = { ...id, ...(await store.asSeen(id)) };
    expect(await store.recordVerdict(seen, { kind: 'retry' }, 'eve')).toBe('recorded');
    expect(await shop.idempotency.completeDue()).toMatchObject({ settled: 1 });
    expect(await sends(`POST ${path}`)).toBe(1);
    const outcome = await act();
    const { charges, refunds } = await shop.moved(order ?? (outcome.ok ? outcome.data.id : ''));
    expectCounted([charges.length, refunds.length]).toEqual(order ? [1, 1] : [1, 0]);
  },
);
