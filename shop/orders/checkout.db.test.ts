import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { openShop, untilFinal } from '../shop.fixture.ts';

let shop: Awaited<ReturnType<typeof openShop>>;
beforeAll(async () => {
  shop = await openShop();
});
afterAll(() => shop.close());

/** Places an order that must succeed. */
async function placed(cart: string, { key = randomUUID() as string } = {}) {
  const outcome = await untilFinal(() => shop.place(cart, { key }));
  if (!outcome.ok) throw new Error(JSON.stringify(outcome));
  return outcome;
}

describe('a checkout', () => {
  test('sells, charges and books once; a second send replays', async () => {
    const before = await shop.stock('mug');
    const cart = await shop.cart('mug', 2);
    const key = randomUUID();
    const first = await placed(cart, { key });
    expect(first.data).toMatchObject({ sku: 'mug', quantity: 2, amountCents: 3600, status: 'paid' });
    const again = await placed(cart, { key });
    expect(again).toMatchObject({ data: first.data, replayed: true });

    const { id } = first.data;
    const { charges } = await shop.moved(id);
    expect(charges).toHaveLength(1);
    expect(await shop.order(id)).toMatchObject({ status: 'paid', cartId: cart, idempotencyKey: key });
    expect((await shop.order(id)).paymentIntent).toMatch(/^pi_/);
    expect(await shop.booked(id)).toEqual([
      ['charge', 'payments', 3600],
      ['charge', 'sales', -3600],
    ]);
    expect(await shop.stock('mug')).toBe(before - 2);
    const audited = await shop.client.auditRecord.findMany({ where: { orderId: id }, orderBy: { id: 'asc' } });
    expect(audited.map(({ action }) => action)).toEqual(['order.placed', 'order.paid']);
    expect((await shop.jobs()).filter((job) => job.key === `receipt:${id}`)).toMatchObject([
      { task: 'receipt', payload: { id } },
    ]);
  });

  test('one receipt, however often its job runs', async () => {
    const { data } = await placed(await shop.cart());
    const job = { id: data.id };
    await Promise.all([shop.jobHandlers.receipt?.(job), shop.jobHandlers.receipt?.(job)]);
    await shop.jobHandlers.receipt?.(job);
    const mails = await shop.client.mail.findMany({ where: { orderId: data.id } });
    expect(mails).toMatchObject([{ kind: 'receipt', recipient: 'ada@example.com' }]);
    expect(mails[0]?.body).toContain(data.id);
    expect(mails[0]?.body).toContain('$36.00');
  });

  test('a cart is sold once: a second key gets the first one’s order, and with another card is told which key counts', async () => {
    const cart = await shop.cart();
    const first = await placed(cart);
    const before = await shop.stock('mug');
    const second = await shop.place(cart);
    expect(second).toMatchObject({ ok: true, replayed: true, key: first.key, data: first.data });
    const other = await shop.place(cart, { card: 'pm_card_chargeDeclined' });
    expect(other).toMatchObject({ code: 'payload_mismatch', executed: true, key: first.key });
    expect(await shop.stock('mug')).toBe(before);
    expectCounted(await shop.client.order.count({ where: { cartId: cart } })).toBe(1);
  });

  test('a cart that was sold is gone, also once the key that sold it is no longer kept', async () => {
    const cart = await shop.cart();
    const { key } = await placed(cart);
    await shop.client.idempotencyKey.deleteMany({ where: { key } });
    expect(await shop.place(cart)).toMatchObject({ ok: false, reason: 'cart_not_found' });
    expectCounted(await shop.client.order.count({ where: { cartId: cart } })).toBe(1);
  });

  test('somebody else’s cart is none', async () => {
    const outcome = await shop.place(await shop.cart('mug', 1, 'eve'));
    expect(outcome).toMatchObject({ ok: false, reason: 'cart_not_found' });
  });

  test('sold out: refused before anything is charged', async () => {
    const { stock } = await shop.client.product.findUniqueOrThrow({ where: { sku: 'lamp' } });
    const cart = await shop.cart('lamp', stock + 1);
    expect(await shop.place(cart)).toMatchObject({ ok: false, reason: 'out_of_stock' });
    expect(await shop.stock('lamp')).toBe(stock);
    expectCounted(await shop.client.order.count({ where: { cartId: cart } })).toBe(0);
  });
});

describe('a declined card', () => {
  test('order failed, stock back, refusal stored and replayed; a new key can try another card', async () => {
    const before = await shop.stock('notebook');
    const cart = await shop.cart('notebook', 3);
    const key = randomUUID();
    const declined = await shop.place(cart, { key, card: 'pm_card_chargeDeclined' });
    expect(declined).toMatchObject({ ok: false, code: 'failed', reason: 'card_declined', retry: 'new-key' });
    expect(await shop.place(cart, { key, card: 'pm_card_chargeDeclined' })).toMatchObject({ reason: 'card_declined' });

    const failed = await shop.client.order.findFirstOrThrow({ where: { idempotencyKey: key } });
    expect(failed).toMatchObject({ status: 'payment_failed', cartId: null, paymentIntent: null });
    expect(await shop.stock('notebook')).toBe(before);
    expect(await shop.booked(failed.id)).toEqual([]);
    expectCounted((await shop.moved(failed.id)).charges).toEqual([]);
    const row = await shop.client.idempotencyKey.findFirstOrThrow({ where: { key } });
    expect(row.state).toBe('failed');

    const { data } = await placed(cart);
    expectCounted((await shop.moved(data.id)).charges).toHaveLength(1);
    expect(await shop.stock('notebook')).toBe(before - 3);
  });
});

describe('a gateway that fails', () => {
  afterEach(async () => expect(await shop.unspent()).toBe(0));

  const path = '/v1/payment_intents';

  test.each([
    ['loses the answer after the charge', { kind: 'lose-answer', path }],
    ['breaks before the charge', { kind: 'error-before', path }],
    ['limits the rate', { kind: 'rate-limit', path }],
    ['is down for a moment', { kind: 'down', path, ms: 300 }],
  ])('%s: charged once', async (_, fault) => {
    await shop.break(fault);
    const { data } = await placed(await shop.cart());
    expectCounted((await shop.moved(data.id)).charges).toHaveLength(1);
    expect(await shop.booked(data.id)).toHaveLength(2);
  });

  test('breaks after the charge, and replays its 500: looked up, charged once', async () => {
    await shop.break({ kind: 'error-after', path });
    const { data } = await placed(await shop.cart());
    expectCounted((await shop.moved(data.id)).charges).toHaveLength(1);
  });

  test('loses the answer to a decline: refused, and not tried again', async () => {
    await shop.break({ kind: 'lose-answer', path });
    const outcome = await shop.place(await shop.cart(), { card: 'pm_card_chargeDeclined' });
    expect(outcome).toMatchObject({ ok: false, reason: 'card_declined' });
  });
});
