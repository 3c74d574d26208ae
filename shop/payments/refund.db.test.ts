import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openShop, untilFinal } from '../shop.fixture.ts';

let shop: Awaited<ReturnType<typeof openShop>>;
beforeAll(async () => {
  shop = await openShop();
});
afterAll(() => shop.close());

/** An order of $36.00 that is paid. */
async function paidOrder() {
  const outcome = await shop.place(await shop.cart('mug', 2));
  if (!outcome.ok) throw new Error(JSON.stringify(outcome));
  return outcome.data.id;
}

const given = async (order: string) => (await shop.moved(order)).refunds.map(({ amount }) => amount);
const sum = (booked: unknown[][]) => booked.reduce((total, [, , cents]) => total + Number(cents), 0);

describe('a refund', () => {
  test('in parts, then whole: the books follow, and nothing is left', async () => {
    const order = await paidOrder();
    const key = randomUUID();
    const part = await shop.giveBack(order, '10.50', { key });
    expect(part).toMatchObject({
      ok: true,
      data: { amountCents: 1050, status: 'succeeded', orderStatus: 'partially_refunded' },
    });
    expect(await shop.giveBack(order, '10.50', { key })).toMatchObject({ ok: true, replayed: true });
    expect(await given(order)).toEqual([1050]);
    expect(await shop.giveBack(order, '25.50')).toMatchObject({ ok: true, data: { orderStatus: 'refunded' } });
    expect((await given(order)).toSorted()).toEqual([1050, 2550]);
    expect(await shop.order(order)).toMatchObject({ status: 'refunded' });
    const booked = await shop.booked(order);
    expect(booked).toHaveLength(6);
    expect(sum(booked)).toBe(0);
    expect(sum(booked.filter(([, account]) => account === 'payments'))).toBe(0);
    expect(await shop.giveBack(order, '0.01')).toMatchObject({ ok: false, reason: 'exceeds_payment' });
  });

  test('one receipt, however often its job runs', async () => {
    const order = await paidOrder();
    const outcome = await shop.giveBack(order, '1');
    if (!outcome.ok) throw new Error(outcome.message);
    const job = (await shop.jobs()).find(({ key }) => key === `refund_receipt:${outcome.data.id}`);
    for (let run = 0; run < 2; run++) await shop.jobHandlers[String(job?.task)]?.(job?.payload);
    const mails = await shop.client.mail.findMany({ where: { orderId: order } });
    expect(mails).toMatchObject([{ kind: 'refund_receipt', subject: 'Your refund of $1.00' }]);
  });

  test('two at once that together exceed the charge: one is made, one refused', async () => {
    const order = await paidOrder();
    const holder = await shop.connect();
    const watcher = await shop.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT 1 FROM orders WHERE id = $1 FOR UPDATE', [order]);
    // The barrier: both are in their own transaction, in front of the order's row, before either may look.
    const both = Promise.all([shop.giveBack(order, '20.00'), shop.giveBack(order, '20.00')]);
    await shop.untilWaiting(watcher, 2);
    await holder.query('COMMIT');
    const outcomes = await both;
    await Promise.all([holder.end(), watcher.end()]);

    expect(outcomes.filter(({ ok }) => ok)).toHaveLength(1);
    expect(outcomes.find(({ ok }) => !ok)).toMatchObject({
      reason: 'exceeds_payment',
      data: { refundable_cents: 1600 },
    });
    expect(await given(order)).toEqual([2000]);
    expect(await shop.order(order)).toMatchObject({ status: 'partially_refunded' });
    expect(sum(await shop.booked(order))).toBe(0);
  });

  test('ten at once of a quarter each: four are made', async () => {
    const order = await paidOrder();
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => shop.giveBack(order, '9.00')));
    expect(outcomes.filter(({ ok }) => ok)).toHaveLength(4);
    expect(await given(order)).toEqual([900, 900, 900, 900]);
    expect(await shop.order(order)).toMatchObject({ status: 'refunded' });
  });

  test('one that is still under way counts', async () => {
    const order = await paidOrder();
    await shop.client.refund.create({
      data: {
        id: randomUUID(),
        orderId: order,
        ...shop.ada,
        amountCents: 3000,
        status: 'pending',
        idempotencyKey: 'elsewhere',
      },
    });
    expect(await shop.giveBack(order, '6.01')).toMatchObject({ reason: 'exceeds_payment' });
    expect(await shop.giveBack(order, '6.00')).toMatchObject({ ok: true });
  });

  test('of an order that is not paid, or not one’s own, is refused', async () => {
    const lab = await shop.operations.labOrder.execute({
      key: randomUUID(),
      scope: shop.ada,
      payload: { sku: 'mug', quantity: 1 },
    });
    if (!lab.ok) throw new Error(lab.message);
    expect(await shop.giveBack(lab.data.id, '1.00')).toMatchObject({ reason: 'not_paid' });
    const eve = { tenant: 'demo', principal: 'eve' };
    expect(await shop.giveBack(await paidOrder(), '1.00', { scope: eve })).toMatchObject({ reason: 'order_not_found' });
  });

  test('of an order that is being paid is put off, not told that there is no payment', async () => {
    const cart = await shop.cart('mug', 2);
    const release = await shop.hold('after-answer checkout');
    const placing = shop.place(cart);
    const { id } = await shop.until(() => shop.client.order.findUnique({ where: { cartId: cart } }));
    const refused = await shop.giveBack(id, '1.00');
    await release();
    expect(refused).toMatchObject({
      reason: 'payment_unknown',
      message: 'Whether this order is paid is not known yet. Try again once it is.',
      retry: 'new-key',
    });
    expect(await placing).toMatchObject({ ok: true });
    expect(await shop.giveBack(id, '1.00')).toMatchObject({ ok: true });
    expect(await given(id)).toEqual([100]);
  });

  test('by the account that the shopper has signed in to since', async () => {
    const order = await paidOrder();
    await shop.client.adoptedShopper.create({ data: { shopper: 'ada', account: 'alice' } });
    const alice = { tenant: 'demo', principal: 'alice' };
    expect(await shop.giveBack(order, '1.00', { scope: alice })).toMatchObject({ ok: true });
  });

  test.each(['0', '-1', '1.234', '1e3', 'ten', ''])('of %j is no amount', async (amount) => {
    expect(await shop.giveBack(randomUUID(), amount)).toMatchObject({ code: 'validation' });
  });
});

describe('a gateway that fails', () => {
  afterEach(async () => expect(await shop.unspent()).toBe(0));

  const path = '/v1/refunds';

  test.each([
    ['loses the answer after the refund', { kind: 'lose-answer', path }],
    ['breaks before the refund', { kind: 'error-before', path }],
    ['breaks after the refund, and replays its 500', { kind: 'error-after', path }],
    ['limits the rate', { kind: 'rate-limit', path }],
    ['is down for a moment', { kind: 'down', path, ms: 300 }],
  ])('%s: given back once', async (_, fault) => {
    const order = await paidOrder();
    await shop.break(fault);
    const key = randomUUID();
    expect(await untilFinal(() => shop.giveBack(order, '5.00', { key }))).toMatchObject({ ok: true });
    expect(await given(order)).toEqual([500]);
    expect(await shop.booked(order)).toHaveLength(4);
  });

  test('refuses for good: the refund has failed, and its reserve is free', async () => {
    const order = await paidOrder();
    const { paymentIntent } = await shop.order(order);
    await shop.dispute(String(paymentIntent));
    const key = randomUUID();
    expect(await shop.giveBack(order, '5.00', { key })).toMatchObject({ ok: false, reason: 'refund_refused' });
    const { status, refunds } = await shop.order(order);
    expect({ status, refunds }).toMatchObject({ status: 'paid', refunds: [{ status: 'failed', amountCents: 500 }] });
    expect(await given(order)).toEqual([]);
    expect(await shop.booked(order)).toHaveLength(2);
  });

  test('gave it back by another way: it is asked, and the refund has failed', async () => {
    const order = await paidOrder();
    const { paymentIntent } = await shop.order(order);
    await shop.refundElsewhere(String(paymentIntent));
    expect(await shop.giveBack(order, '5.00')).toMatchObject({ ok: false, reason: 'refund_refused' });
    expect(await given(order)).toEqual([3600]);
  });
});
