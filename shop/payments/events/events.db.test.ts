import { randomUUID } from 'node:crypto';
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { titleOf } from '../../../components/shop/order-title.ts';
import { RefundList } from '../../../components/shop/refund-list.tsx';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import { openShop, untilFinal } from '../../shop.fixture.ts';
import { type Sent, signed, startWebhooks } from '../webhook.fixture.ts';

let webhooks: Awaited<ReturnType<typeof startWebhooks>>;
let shop: Awaited<ReturnType<typeof openShop>>;
let inbox: typeof import('../../inbox.ts').inbox;
beforeAll(async () => {
  webhooks = await startWebhooks();
  // A provider that forgets keys at once, so that whatever is not known has to be asked.
  shop = await openShop({ keyTtlMs: 1, webhook: webhooks.webhook });
  const { receivePaymentWebhook } = await import('../webhook.ts');
  ({ inbox } = await import('../../inbox.ts'));
  webhooks.receiveWith(receivePaymentWebhook);
});
afterEach(async () => expect(await shop.unspent()).toBe(0));
afterAll(async () => {
  await shop.close();
  await webhooks.close();
});

/** An order of $36.00 that is paid. */
async function paidOrder() {
  const outcome = await untilFinal(async () => shop.place(await shop.cart('mug', 2)));
  if (!outcome.ok) throw new Error(JSON.stringify(outcome));
  const { id } = outcome.data;
  return { id, payment: String((await shop.order(id)).paymentIntent) };
}

const deliverAll = (all: readonly Sent[]) => Promise.all(all.map((one) => webhooks.deliver(one)));
const resultOf = async ({ event }: Sent) => {
  const row = await inbox.find({ source: 'stripe', eventId: event.id });
  return row && { state: row.state, result: row.result && JSON.parse(row.result) };
};
const records = async (orderId: string) =>
  (await shop.client.auditRecord.findMany({ where: { orderId }, orderBy: { id: 'asc' } })).map(({ action }) => action);
const announced = async (orderId: string) =>
  (
    await shop.client.outboxEvent.findMany({ where: { aggregate: `order:${orderId}` }, orderBy: { sequence: 'asc' } })
  ).map(({ type }) => type);
/** The books in the end: the balance of what the provider holds for us, and how often something was booked. */
async function books(orderId: string) {
  const entries = await shop.booked(orderId);
  const held = entries.filter(([, account]) => account === 'payments');
  return {
    postings: held.length,
    entries: entries.length,
    held: held.reduce((sum, [, , cents]) => sum + Number(cents), 0),
  };
}

test('a refund on the provider’s own pages is booked once, and counts for what is left', async () => {
  const { id, payment } = await paidOrder();
  const refund = await shop.refundElsewhere(payment, 1600);
  const all = await webhooks.about([refund.id, payment], 3);
  const statuses = await deliverAll([...all, ...all, ...all]);
  expect(new Set(statuses.map(({ status }) => status))).toEqual(new Set([204]));
  const { status, refunds } = await shop.order(id);
  expect(status).toBe('partially_refunded');
  expect(refunds).toMatchObject([
    { source: 'provider', idempotencyKey: null, providerRefund: refund.id, amountCents: 1600, status: 'succeeded' },
  ]);
  expect(await books(id)).toEqual({ postings: 2, entries: 4, held: 2000 });
  expect(await announced(id)).toEqual(['order.paid', 'order.refunded']);
  const jobs = (await shop.jobs()).map(({ key }) => key);
  expect(jobs).toContain(`refund_receipt:${refunds[0]?.id}`);
  expect(await shop.giveBack(id, '20.01')).toMatchObject({
    reason: 'exceeds_payment',
    data: { refundable_cents: 2000 },
  });
  expect(await shop.giveBack(id, '20.00')).toMatchObject({ ok: true, data: { orderStatus: 'refunded' } });
});

test('two refunds elsewhere at once: neither overlooks the other, and nothing is left', async () => {
  const { id, payment } = await paidOrder();
  const refunds = [await shop.refundElsewhere(payment, 1600), await shop.refundElsewhere(payment, 2000)];
  const created = (await webhooks.about([...refunds.map((one) => one.id), payment], 5)).filter(
    ({ event }) => event.type === 'refund.created',
  );
  const holder = await shop.connect();
  const watcher = await shop.connect();
  await holder.query('BEGIN');
  await holder.query('SELECT 1 FROM orders WHERE id = $1 FOR UPDATE', [id]);
  const both = deliverAll(created);
  await shop.untilWaiting(watcher, 2);
  await holder.query('COMMIT');
  await both;
  await Promise.all([holder.end(), watcher.end()]);
  expect(await shop.order(id)).toMatchObject({ status: 'refunded' });
  expect(await books(id)).toEqual({ postings: 3, entries: 6, held: 0 });
});

test('a late webhook has an unknown checkout asked about at once: paid, charged and booked once', async () => {
  const [cart, key] = [await shop.cart(), randomUUID()];
  await shop.break({ kind: 'lose-answer', path: '/v1/payment_intents' });
  await shop.break({ kind: 'down', path: '/v1/payment_intents/search' });
  expect(await shop.place(cart, { key })).toMatchObject({ ok: false, code: 'outcome_unknown' });
  await shop.heal();
  // A look-up is an hour away, and a person is asked for.
  await shop.client.$executeRaw`
    UPDATE idempotency_keys SET next_attempt_at = now() + interval '1 h', needs_attention = true WHERE key = ${key}`;
  expect(await shop.idempotency.completeDue()).toMatchObject({ taken: 0 });
  const { id } = await shop.client.order.findFirstOrThrow({ where: { idempotencyKey: key } });
  const [paid] = await webhooks.about([id], 1);
  if (!paid) throw new Error('There is no webhook.');
  expect(await webhooks.deliver(paid)).toMatchObject({ status: 204 });
  expect(await resultOf(paid)).toMatchObject({ result: { did: 'evidence', operation: 'checkout', key, orderId: id } });
  // Nothing is booked by hearsay.
  expect(await shop.order(id)).toMatchObject({ status: 'paying' });
  expect(await shop.idempotency.completeDue()).toMatchObject({ taken: 1, settled: 1 });
  expect(await shop.order(id)).toMatchObject({ status: 'paid' });
  expect(await books(id)).toEqual({ postings: 1, entries: 2, held: 3600 });
  expectCounted((await shop.moved(id)).charges).toHaveLength(1);
  expect(await shop.place(cart, { key })).toMatchObject({ ok: true, replayed: true });
});

test('a webhook of our own refund is evidence: booked by its operation, and by nobody else', async () => {
  const { id } = await paidOrder();
  const key = randomUUID();
  await shop.break({ kind: 'lose-answer', path: '/v1/refunds' });
  await shop.break({ kind: 'down', path: '/v1/refunds', method: 'GET' });
  expect(await shop.giveBack(id, '5.00', { key })).toMatchObject({ ok: false, code: 'outcome_unknown' });
  await shop.heal();
  await shop.client.$executeRaw`
    UPDATE idempotency_keys SET next_attempt_at = now() + interval '1 h' WHERE key = ${key}`;
  const [refund] = (await shop.moved(id)).refunds;
  const created = (await webhooks.about([refund?.id ?? ''], 1)).filter(({ event }) => event.type === 'refund.created');
  expect(await deliverAll([...created, ...created])).toMatchObject([{ status: 204 }, { status: 204 }]);
  expect(await resultOf(created[0] as Sent)).toMatchObject({ result: { did: 'evidence', operation: 'refund', key } });
  expect((await shop.order(id)).refunds).toMatchObject([{ status: 'pending' }]);
  expect(await shop.idempotency.completeDue()).toMatchObject({ settled: 1 });
  expect((await shop.order(id)).refunds).toMatchObject([{ source: 'form', status: 'succeeded', amountCents: 500 }]);
  expect(await books(id)).toMatchObject({ postings: 2, held: 3100 });
});

test('money that went back under the name of a refund that had failed is booked all the same', async () => {
  const { id, payment } = await paidOrder();
  const failed = { id: randomUUID(), orderId: id, ...shop.ada, amountCents: 500, idempotencyKey: randomUUID() };
  await shop.client.refund.create({ data: { ...failed, status: 'failed', settledAt: new Date() } });
  const { id: refund } = await shop.refundElsewhere(payment, 500, { refund_id: failed.id });
  await deliverAll(await webhooks.about([refund], 1));
  expect((await shop.order(id)).refunds.map(({ source, status }) => `${source} ${status}`).sort()).toEqual([
    'form failed',
    'provider succeeded',
  ]);
  expect(await books(id)).toMatchObject({ postings: 2, held: 3100 });
});

/** The same thing as the provider says it later. */
const later = ({ event }: Sent, type: string, said: object) =>
  signed({ ...event, id: `evt_${randomUUID()}`, type, data: { object: { ...event.data.object, ...said } } });
const createdOf = async (refund: string) => {
  const [created] = (await webhooks.about([refund], 1)).filter(({ event }) => event.type === 'refund.created');
  return created ?? expect.unreachable('There is no webhook.');
};
const notesOf = (orderId: string, action: string) =>
  shop.client.auditRecord.findMany({ where: { orderId, action }, orderBy: { id: 'asc' } });

test('a refund that is booked and fails later is written down for a person, once, and stays booked', async () => {
  const { id, payment } = await paidOrder();
  const elsewhere = await createdOf((await shop.refundElsewhere(payment, 1600)).id);
  await webhooks.deliver(elsewhere);
  expect(await shop.giveBack(id, '5.00')).toMatchObject({ ok: true });
  const own = (await shop.order(id)).refunds.find(({ source }) => source === 'form')?.providerRefund ?? '';
  const failed = { status: 'failed', failure_reason: 'lost_or_stolen_card' };
  await deliverAll([
    later(elsewhere, 'refund.updated', failed),
    later(elsewhere, 'refund.failed', failed),
    later(await createdOf(own), 'refund.updated', { status: 'canceled' }),
  ]);
  const [one, other, ...more] = (await notesOf(id, 'refund.reversed')).map(({ data }) => data);
  expect(more).toEqual([]);
  expect([one, other]).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ amountCents: 1600, status: 'failed', reason: 'lost_or_stolen_card' }),
      expect.objectContaining({ amountCents: 500, status: 'canceled', providerRefund: own }),
    ]),
  );
  const order = await shop.order(id);
  expect(order.refunds.map(({ status }) => status)).toEqual(['succeeded', 'succeeded']);
  expect(await books(id)).toMatchObject({ postings: 3, held: 1500 });
  // The customer's page does not say that it was given back.
  const { paymentOf } = await import('../../orders/payment-answer.ts');
  const stand = await paymentOf(order);
  expect(titleOf(order.status, stand).title).toBe('A refund has not reached you');
  const list = createElement(RefundList, { refunds: order.refunds, failed: stand.failedRefunds });
  expect(renderToStaticMarkup(list)).toMatch(/(Has not reached you.*){2}/);
});

test('a refund that is known to have failed is not booked by what was said of it before', async () => {
  const { id, payment } = await paidOrder();
  const elsewhere = await createdOf((await shop.refundElsewhere(payment, 700)).id);
  const asked = { id: randomUUID(), orderId: id, ...shop.ada, amountCents: 500, idempotencyKey: randomUUID() };
  await shop.client.refund.create({ data: { ...asked, status: 'failed', settledAt: new Date() } });
  const own = await createdOf((await shop.refundElsewhere(payment, 500, { refund_id: asked.id })).id);
  for (const one of [elsewhere, own]) {
    await deliverAll([later(one, 'refund.failed', { status: 'failed' })]);
    await deliverAll([later(one, 'refund.created', { status: 'pending' })]);
  }
  const { status, refunds } = await shop.order(id);
  expect(status).toBe('paid');
  expect(refunds.map((one) => `${one.source} ${one.status} ${one.amountCents}`).sort()).toEqual([
    'form failed 500',
    'provider failed 700',
  ]);
  expect(await books(id)).toMatchObject({ postings: 1, held: 3600 });
  expect(await notesOf(id, 'refund.reversed')).toEqual([]);
});

/** A refund whose answer was lost, and of which the provider cannot be asked. */
async function unknownRefund(order: string) {
  const key = randomUUID();
  await shop.break({ kind: 'lose-answer', path: '/v1/refunds' });
  await shop.break({ kind: 'down', path: '/v1/refunds', method: 'GET' });
  expect(await shop.giveBack(order, '5.00', { key })).toMatchObject({ ok: false, code: 'outcome_unknown' });
  return key;
}

test('a refund that fails before its operation has booked it is written down behind that', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  const { id } = await paidOrder();
  await unknownRefund(id);
  const [refund] = (await shop.moved(id)).refunds;
  const created = await createdOf(refund?.id ?? '');
  expect(await webhooks.deliver(later(created, 'refund.failed', { status: 'failed' }))).toMatchObject({ status: 202 });
  await shop.heal();
  await shop.client
    .$executeRaw`UPDATE idempotency_keys SET next_attempt_at = now() - interval '1 s' WHERE state = 'unknown'`;
  expect(await shop.idempotency.completeDue()).toMatchObject({ settled: 1 });
  await shop.client
    .$executeRaw`UPDATE inbox_events SET next_attempt_at = now() - interval '1 s' WHERE state = 'failed'`;
  expect(await inbox.retryDue()).toMatchObject({ processed: 1 });
  expect(await notesOf(id, 'refund.reversed')).toMatchObject([{ data: { providerRefund: refund?.id } }]);
});

test('a dispute that is said twice counts once, since its first time', async () => {
  const { id, payment } = await paidOrder();
  const said = (created: number) => {
    const dispute = { id: `du_${created}`, payment_intent: payment, amount: 3600, reason: 'fraudulent', created };
    return signed({
      id: `evt_${id}_${created}`,
      object: 'event',
      type: 'charge.dispute.created',
      data: { object: dispute },
    });
  };
  const now = Math.floor(Date.now() / 1000);
  await webhooks.deliver(said(now));
  await webhooks.deliver(said(now + 60));
  expect((await shop.order(id)).disputedAt).toEqual(new Date(now * 1000));
  expect((await records(id)).filter((action) => action === 'order.disputed')).toHaveLength(1);
});

test('a payment for an order that was given up is written down for a person, once, and not booked', async () => {
  const outcome = await shop.place(await shop.cart(), { card: 'pm_card_chargeDeclined' });
  expect(outcome).toMatchObject({ reason: 'card_declined' });
  const order = await shop.client.order.findFirstOrThrow({
    where: { status: 'payment_failed' },
    orderBy: { createdAt: 'desc' },
  });
  const amount = { amount: 3600, amount_received: 3600, currency: 'usd' };
  const intent = { id: 'pi_late', object: 'payment_intent', ...amount, metadata: { order_id: order.id } };
  const event = (id: string) =>
    signed({ id, object: 'event', type: 'payment_intent.succeeded', data: { object: intent } });
  const [first, second] = [event('evt_late_1'), event('evt_late_2')];
  await deliverAll([first, second, first]);
  expect((await records(order.id)).filter((action) => action === 'payment.unexpected')).toHaveLength(1);
  expect(await shop.order(order.id)).toMatchObject({ status: 'payment_failed', paymentIntent: null });
  expect(await books(order.id)).toMatchObject({ entries: 0 });
});

test('what is none of this shop’s is acknowledged, and changes nothing', async () => {
  const strange = (type: string, object: object) =>
    signed({ id: `evt_${randomUUID()}`, object: 'event', type, data: { object } });
  const created = Math.floor(Date.now() / 1000);
  const all = [
    strange('payment_intent.succeeded', { id: 'pi_x', metadata: {} }),
    strange('payment_intent.succeeded', { id: 'pi_x', metadata: { order_id: randomUUID() } }),
    strange('refund.created', {
      id: 're_x',
      status: 'succeeded',
      amount: 5,
      payment_intent: 'pi_x',
      metadata: {},
      created,
    }),
    strange('charge.dispute.created', { id: 'du_x', payment_intent: 'pi_x', amount: 5, reason: 'fraudulent', created }),
    strange('customer.created', { id: 'cus_x' }),
  ];
  const before = await shop.client.ledgerEntry.count();
  for (const one of all) expect(await webhooks.deliver(one)).toMatchObject({ status: 204 });
  expect((await Promise.all(all.map(resultOf))).map((one) => one?.result.did)).toEqual(all.map(() => 'nothing'));
  expectCounted(await shop.client.ledgerEntry.count()).toBe(before);
});
