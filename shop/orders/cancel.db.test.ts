import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openShop } from '../shop.fixture.ts';

let shop: Awaited<ReturnType<typeof openShop>>;
beforeAll(async () => {
  shop = await openShop();
});
afterAll(() => shop.close());

async function labOrder() {
  const payload = { sku: 'tote', quantity: 2 };
  const outcome = await shop.operations.labOrder.execute({ key: randomUUID(), scope: shop.ada, payload });
  if (!outcome.ok) throw new Error(outcome.message);
  return outcome.data.id;
}

const cancel = (order: string, scope = shop.ada) =>
  shop.operations.cancelOrder.execute({ key: randomUUID(), scope, payload: { order_id: order } });

test('an order that is not paid is cancelled, and its goods go back once, whatever the number of keys', async () => {
  const before = await shop.stock('tote');
  const order = await labOrder();
  const outcomes = await Promise.all(Array.from({ length: 5 }, () => cancel(order)));
  expect(outcomes.every(({ ok }) => ok)).toBe(true);
  expect(await shop.order(order)).toMatchObject({ status: 'cancelled' });
  expect(await shop.stock('tote')).toBe(before);
});

test('an order that is paid is not cancelled', async () => {
  const placed = await shop.place(await shop.cart());
  if (!placed.ok) throw new Error(placed.message);
  expect(await cancel(placed.data.id)).toMatchObject({
    ok: false,
    reason: 'not_cancellable',
    data: { status: 'paid' },
  });
});

test('an order whose card is being charged is not cancelled', async () => {
  await shop.break({ kind: 'latency', path: '/v1/payment_intents', ms: 1500 });
  const cart = await shop.cart('tote', 1);
  const placing = shop.place(cart);
  const order = await shop.until(() => shop.client.order.findUnique({ where: { cartId: cart } }));
  expect(await cancel(order.id)).toMatchObject({ reason: 'not_cancellable', data: { status: 'paying' } });
  expect(await placing).toMatchObject({ ok: true });
});

test('somebody else’s order is none', async () => {
  expect(await cancel(await labOrder(), { tenant: 'demo', principal: 'eve' })).toMatchObject({
    reason: 'order_not_found',
  });
});
