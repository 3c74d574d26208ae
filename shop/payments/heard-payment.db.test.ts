import { randomUUID } from 'node:crypto';
import { createAdmin } from 'oncekit/admin';
import type Stripe from 'stripe';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { prismaStore } from '../../lib/store/prisma/store.ts';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { openShop, untilFinal } from '../shop.fixture.ts';
import { type Sent, signed, startWebhooks } from './webhook.fixture.ts';

// A provider that honours no keys and cannot be asked: what became of a call whose answer was lost, its webhook alone can say.
let webhooks: Awaited<ReturnType<typeof startWebhooks>>;
let shop: Awaited<ReturnType<typeof openShop>>;
let acts: typeof import('../admin/payments-acts.ts');
let unexpected: typeof import('./unexpected-money.ts');
beforeAll(async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  webhooks = await startWebhooks();
  shop = await openShop({ isBlind: true, webhook: webhooks.webhook });
  const { receivePaymentWebhook } = await import('./webhook.ts');
  acts = await import('../admin/payments-acts.ts');
  unexpected = await import('./unexpected-money.ts');
  webhooks.receiveWith(receivePaymentWebhook);
});
afterEach(async () => expect(await shop.unspent()).toBe(0));
afterAll(async () => {
  await shop.close();
  await webhooks.close();
});

const CHARGES = '/v1/payment_intents';
const eve = { name: 'eve', tenant: null };
const row = (key: string) => shop.client.idempotencyKey.findFirstOrThrow({ where: { key } });
const orderOf = (idempotencyKey: string) => shop.client.order.findFirstOrThrow({ where: { idempotencyKey } });
const noted = async (orderId: string) =>
  (await shop.client.auditRecord.findMany({ where: { orderId, action: 'payment.unexpected' } })).map(
    ({ data }) => data,
  );
const held = async (orderId: string) =>
  (await shop.booked(orderId)).reduce(
    (sum, [, account, cents]) => sum + (account === 'payments' ? Number(cents) : 0),
    0,
  );
/** The money that the provider keeps for an order, by its own ledger, and how often it was moved. */
async function net(orderId: string) {
  const { charges, refunds } = await shop.moved(orderId);
  const sum = (all: { amount: number }[]) => all.reduce((cents, { amount }) => cents + amount, 0);
  return { charges: charges.length, refunds: refunds.length, cents: sum(charges) - sum(refunds) };
}

type RefundSent = Sent & { event: Stripe.RefundCreatedEvent };

/** The webhook of a kind about one of the provider's objects. */
async function webhookOf(id: string, type: string): Promise<Sent> {
  return await shop.until(
    async () => webhooks.sent.find(({ event, body }) => event.type === type && body.includes(id)) ?? null,
  );
}

/** A checkout of $36.00 whose answer was lost: charged once, and nobody knows. */
async function lostCheckout() {
  const [cart, key] = [await shop.cart(), randomUUID()];
  await shop.break({ kind: 'lose-answer', path: CHARGES });
  expect(await shop.place(cart, { key })).toMatchObject({ ok: false, code: 'outcome_unknown' });
  const { id } = await orderOf(key);
  const payment = (await shop.moved(id)).charges[0]?.payment_intent ?? '';
  return { cart, key, id, payment, paid: await webhookOf(payment, 'payment_intent.succeeded') };
}

/** A person says what became of it. */
async function resolve(key: string, kind: 'failed' | 'retry') {
  const { tenant, principal, operation } = await row(key);
  const admin = createAdmin({ prisma: shop.client, complete: shop.idempotency.completeKey });
  const seen = await admin.findKey({ tenant, principal, operation, key });
  // Whoever overrules what the provider has said names it.
  const { heard } = await prismaStore(shop.client).asSeen({ tenant, principal, operation, key });
  const verdict = { kind, ...(heard === null ? {} : { overrules: heard }) };
  expect(seen && (await admin.resolve(seen, verdict, 'eve'))).toBe('recorded');
}

test('a lost answer, and the webhook of its charge: paid, charged once, and no person is asked', async () => {
  const { cart, key, id, paid } = await lostCheckout();
  expect(await webhooks.deliver(paid)).toMatchObject({ status: 204 });
  expect(await shop.idempotency.completeDue()).toMatchObject({ settled: 1 });
  expect(await shop.order(id)).toMatchObject({ status: 'paid' });
  expect(await row(key)).toMatchObject({ state: 'succeeded', needsAttention: false });
  expectCounted(await net(id)).toEqual({ charges: 1, refunds: 0, cents: 3600 });
  expect(await held(id)).toBe(3600);
  expect(await shop.place(cart, { key })).toMatchObject({ ok: true, replayed: true });
  await webhooks.deliver(signed({ ...paid.event, id: `evt_${id}` }));
  expect(await noted(id)).toEqual([]);
});

test('the webhook comes first and the doubt later: paid, charged once, and nothing is sent again', async () => {
  const [cart, key] = [await shop.cart(), randomUUID()];
  const letGo = await shop.hold('after-started checkout');
  const placing = untilFinal(() => shop.place(cart, { key }));
  const { id } = await shop.until(() => shop.client.order.findFirst({ where: { idempotencyKey: key } }));
  const { id: payment } = await shop.chargeElsewhere(id, 3600);
  expect(await webhooks.deliver(await webhookOf(payment, 'payment_intent.succeeded'))).toMatchObject({ status: 204 });
  await shop.break({ kind: 'error-before', method: 'POST', path: CHARGES });
  await letGo();
  await shop.until(async () => ((await row(key)).state === 'in_progress' ? null : true));
  await shop.idempotency.completeDue();
  expect(await placing).toMatchObject({ ok: true });
  expect(await shop.order(id)).toMatchObject({ status: 'paid', paymentIntent: payment });
  expectCounted(await net(id)).toEqual({ charges: 1, refunds: 0, cents: 3600 });
});

test('a webhook of another amount or currency proves nothing, and is written down for a person', async () => {
  const { key, id, payment, paid } = await lostCheckout();
  const said = (change: object) =>
    signed({ ...paid.event, id: `evt_${randomUUID()}`, data: { object: { ...paid.event.data.object, ...change } } });
  await webhooks.deliver(said({ amount_received: 3500 }));
  await webhooks.deliver(said({ currency: 'eur' }));
  await shop.idempotency.completeDue();
  expect(await row(key)).toMatchObject({ state: 'unknown' });
  expect(await shop.order(id)).toMatchObject({ status: 'paying' });
  expect(await noted(id)).toEqual([
    { paymentIntent: payment, amountCents: 3500, currency: 'usd', orderStatus: 'paying' },
  ]);
  // Its page promises nothing of how often the card is charged.
  expect((await headingOf(id)).lead).not.toContain('at most once');
  // It cannot be given back while its checkout may still take it.
  const [money] = (await unexpected.listUnexpectedMoney(null, { limit: 1, offset: 0 })).rows;
  expect(money && unexpected.isReturnable(money, 'usd')).toBe(false);
  await webhooks.deliver(paid);
  expect(await shop.idempotency.completeDue()).toMatchObject({ settled: 1 });
  expect(await shop.order(id)).toMatchObject({ status: 'paid' });
});

const formOf = (fields: Record<string, string>) => {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  return form;
};
const waiting = async (orderId: string, tenant: string | null = null) =>
  (await unexpected.listUnexpectedMoney(tenant, { limit: 50, offset: 0 })).rows.filter(
    ({ order }) => order.id === orderId,
  );
const theOne = async (orderId: string) => (await waiting(orderId))[0] ?? expect.unreachable('Nothing waits.');
/** What the page's form sends for a refund. */
async function refundForm(orderId: string) {
  const money = await theOne(orderId);
  return formOf({ record: money.id, idempotency_key: await acts.refundKey(money) });
}

/** A checkout that a person has given up, and whose charge is heard of behind that. */
async function contradicted() {
  const lost = await lostCheckout();
  await resolve(lost.key, 'failed');
  expect(await shop.order(lost.id)).toMatchObject({ status: 'payment_failed' });
  expect(await webhooks.deliver(lost.paid)).toMatchObject({ status: 204 });
  return lost;
}

test('a webhook behind “it shall not happen”: the key stays failed and is flagged, and the payment is given back once', async () => {
  const { cart, key, id, payment, paid } = await contradicted();
  await webhooks.deliver(signed({ ...paid.event, id: `evt_${randomUUID()}` }));
  expect(await row(key)).toMatchObject({ state: 'failed', needsAttention: true });
  expect(await noted(id)).toEqual([
    { paymentIntent: payment, amountCents: 3600, currency: 'usd', orderStatus: 'payment_failed' },
  ]);
  expect((await headingOf(id)).lead).toContain('If you were charged, it will be given back');
  expect(await waiting(id, 'acme')).toEqual([]);
  expect(await unexpected.countUnexpectedMoney('acme')).toBe(0);
  expect(await waiting(id, 'demo')).toHaveLength(1);
  // The cart is held again: another key does not charge it a second time.
  expect(await shop.place(cart)).toMatchObject({ ok: false, reason: 'marked_failed', executed: 'unknown' });

  const [one, other] = [await refundForm(id), await refundForm(id)];
  expect(await acts.refundUnexpected(one, { name: 'mallory', tenant: 'acme' })).toBe('changed');
  const answers = await Promise.all([one, one, other].map((form) => acts.refundUnexpected(form, eve)));
  expect(answers).toContain('refunded');
  expect(await acts.refundUnexpected(one, eve)).toBe('refunded');
  expect(await acts.refundUnexpected(other, { name: 'root', tenant: 'demo' })).toBe('changed');
  expectCounted(await net(id)).toEqual({ charges: 1, refunds: 1, cents: 0 });
  expect(await held(id)).toBe(0);
  expect((await headingOf(id)).lead).toContain('You were charged, and it has been given back.');
  expect(await waiting(id)).toEqual([]);
  const { status, refunds } = await shop.order(id);
  expect([status, refunds.map((refund) => `${refund.source} ${refund.status} ${refund.amountCents}`)]).toEqual([
    'payment_failed',
    ['unexpected succeeded 3600'],
  ]);
  const { operation, principal } = await row(key);
  expect(await shop.client.idempotencyAudit.findMany({ where: { type: 'payment_refunded' } })).toMatchObject([
    { actor: 'eve', operation, principal, key, detail: { payment, cents: '3600' } },
  ]);
  // The provider's own word of the refund is no news.
  for (const sent of webhooks.sent.filter(({ event }) => event.type.startsWith('refund.')))
    expect(await webhooks.deliver(sent)).toMatchObject({ status: 204 });
  expect(await waiting(id)).toEqual([]);
  expect(await held(id)).toBe(0);

  // As if a person had given it up, and its key had gone: then it is news, once.
  const givenUp = { status: 'failed', providerRefund: null };
  await shop.client.refund.updateMany({ where: { orderId: id }, data: givenUp });
  await shop.client.idempotencyKey.deleteMany({ where: { operation: 'refund.unexpected', principal } });
  const [{ id: providerRefund = '' } = {}] = (await shop.moved(id)).refunds;
  const { event } = await webhookOf(providerRefund, 'refund.created');
  for (const again of [1, 2]) await webhooks.deliver(signed({ ...event, id: `evt_${again}_${id}` }));
  expect(await waiting(id)).toMatchObject([{ action: 'refund.unexpected', data: { providerRefund } }]);
});

test('a refund of it whose answer is lost is under way until its webhook ends it; meanwhile nobody asks again', async () => {
  const { id } = await contradicted();
  await shop.break({ kind: 'lose-answer', path: '/v1/refunds' });
  const form = await refundForm(id);
  expect(await acts.refundUnexpected(form, eve)).toBe('under_way');
  const money = await theOne(id);
  expect(money.refund).toMatchObject({ status: 'pending' });
  expect(await acts.refundUnexpected(await refundForm(id), eve)).toBe('under_way');
  expect((await shop.order(id)).refunds).toHaveLength(1);
  const seenForm = formOf({ record: money.id, idempotency_key: await acts.paymentActs.newKey('eve') });
  expect(await acts.paymentActs.once('seen', seenForm, eve)).toBe('changed');
  const [refund] = (await shop.moved(id)).refunds;
  expect(await webhooks.deliver(await webhookOf(refund?.id ?? '', 'refund.created'))).toMatchObject({ status: 204 });
  expect(await shop.idempotency.completeDue()).toMatchObject({ settled: 1 });
  expectCounted(await net(id)).toEqual({ charges: 1, refunds: 1, cents: 0 });
  expect(await waiting(id)).toEqual([]);
  expect(await acts.refundUnexpected(form, eve)).toBe('refunded');

  // It fails after all: that is written down, and the books are left to a person.
  const { event } = await webhookOf(refund?.id ?? '', 'refund.created');
  const failed = { ...event.data.object, status: 'failed', failure_reason: 'expired_or_canceled_card' };
  await webhooks.deliver(signed({ ...event, id: `evt_${id}`, type: 'refund.failed', data: { object: failed } }));
  expect(await waiting(id)).toMatchObject([
    { action: 'refund.reversed', data: { reason: 'expired_or_canceled_card' } },
  ]);
});

test('a refund that the provider refuses leaves it on the list, until a person says once that they have seen to it', async () => {
  const { id, payment } = await contradicted();
  await shop.dispute(payment);
  expect(await acts.refundUnexpected(await refundForm(id), eve)).toBe('refused');
  const { id: record, refund } = await theOne(id);
  expect(refund).toMatchObject({ status: 'failed' });
  expect(await acts.refundUnexpected(await refundForm(id), eve)).toBe('refused');
  expectCounted(await net(id)).toMatchObject({ refunds: 0 });

  const form = async () => formOf({ record, idempotency_key: await acts.paymentActs.newKey('eve') });
  const [one, other] = [await form(), await form()];
  expect(await acts.paymentActs.once('seen', await form(), { name: 'eve', tenant: 'acme' })).toBe('changed');
  const said = await Promise.all([one, one, other].map((each) => acts.paymentActs.once('seen', each, eve)));
  expect(said[0]).toBe(said[1]);
  expect(said.slice(1).toSorted()).toEqual(['changed', 'seen']);
  expect(await waiting(id)).toEqual([]);
  expect(await shop.client.auditRecord.count({ where: { orderId: id, action: 'payment.unexpected.seen' } })).toBe(1);
  expect(await shop.client.idempotencyAudit.count({ where: { type: 'payment_seen_to' } })).toBe(1);
  expect(
    await acts.refundUnexpected(formOf({ record, idempotency_key: one.get('idempotency_key') as string }), eve),
  ).toBe('stale');
});

test('what a person overrules, because the provider does not confirm it, is written down, once', async () => {
  const { key, id, payment, paid } = await lostCheckout();
  await webhooks.deliver(paid);
  await shop.break({ kind: 'down', method: 'GET', path: CHARGES });
  expect(await shop.idempotency.completeDue()).toMatchObject({ unknown: 1 });
  await resolve(key, 'failed');
  await shop.heal();
  expect(await shop.order(id)).toMatchObject({ status: 'payment_failed' });
  expect(await noted(id)).toEqual([{ paymentIntent: payment, amountCents: 3600, orderStatus: 'payment_failed' }]);
  await webhooks.deliver(signed({ ...paid.event, id: `evt_${randomUUID()}` }));
  expect(await noted(id)).toHaveLength(1);

  const { order, key: refundKey, created } = await lostRefund();
  await webhooks.deliver(created);
  await webhooks.deliver(signed({ ...created.event, id: `evt_${refundKey}`, type: 'refund.updated' }));
  await shop.break({ kind: 'down', method: 'GET', path: '/v1/refunds' });
  await resolve(refundKey, 'failed');
  await shop.heal();
  expect((await shop.order(order)).refunds).toMatchObject([{ status: 'failed' }]);
  const providerRefund = created.event.data.object.id;
  const inDoubt = [{ action: 'refund.unexpected', data: { providerRefund, amountCents: 500 } }];
  expect(await waiting(order)).toMatchObject(inDoubt);

  // One that the provider has refused since is no surprise.
  const { undoRefund } = await import('./refunds.ts');
  const pending = { status: 'pending', settledAt: null };
  await shop.client.refund.updateMany({ where: { idempotencyKey: refundKey }, data: pending });
  await shop.client.auditRecord.deleteMany({ where: { orderId: order, action: 'refund.unexpected' } });
  const scope = { ...shop.ada, operation: 'refund' };
  const refused = { key: refundKey, scope, input: {}, data: {}, steps: {}, reason: 'refund_refused' };
  await shop.client.$transaction((tx) => undoRefund(tx, 'form', refused));
  expect((await shop.order(order)).refunds).toMatchObject([{ status: 'failed' }]);
  expect(await waiting(order)).toEqual([]);
});

test('a second payment of an order that is paid is given back, and the order can still be', async () => {
  const { key, id, payment, paid } = await lostCheckout();
  await resolve(key, 'retry'); // the provider is sent it again: nobody had heard of the first
  expectCounted(await net(id)).toEqual({ charges: 2, refunds: 0, cents: 7200 });
  await webhooks.deliver(paid);
  expect(await noted(id)).toMatchObject([{ paymentIntent: payment, orderStatus: 'paid' }]);
  expect(await acts.refundUnexpected(await refundForm(id), eve)).toBe('refunded');
  expectCounted(await net(id)).toEqual({ charges: 2, refunds: 1, cents: 3600 });
  expect(await held(id)).toBe(3600);
  expect(await shop.order(id)).toMatchObject({ status: 'paid' });
  expect((await headingOf(id)).lead).toContain('What was charged besides has been given back.');
  // The mail does not say that what the order is paid with has gone back.
  const [{ id: refund = '' } = {}] = (await shop.order(id)).refunds;
  await shop.jobHandlers.refund_receipt?.({ id: refund });
  expect((await shop.client.mail.findFirstOrThrow({ where: { subjectId: refund } })).body).toContain(
    'We have given back $36.00, a payment that we did not expect.',
  );
  expect(await shop.giveBack(id, '36.00')).toMatchObject({ ok: true, data: { orderStatus: 'refunded' } });
  expect((await headingOf(id)).lead).toBe('All that you paid has been given back.');
  // The bank did not take the first.
  const back = String((await shop.order(id)).refunds.find(({ source }) => source === 'unexpected')?.providerRefund);
  await shop.failRefund(back);
  await webhooks.deliver(await webhookOf(back, 'refund.failed'));
  expect((await headingOf(id)).title).toBe('A refund has not reached you');
  expect((await answerOf(id)).done).toContainEqual(expect.arrayContaining(['given back, which has failed since']));
});

/** The answer about an order's money, without its times. */
async function answerOf(orderId: string) {
  const { paymentOf } = await import('../orders/payment-answer.ts');
  const { title, since, effects, notes } = (await paymentOf(await shop.order(orderId))).answer ?? unanswered();
  const of = (known: readonly { words: string }[]) => known.map(({ words }) => words);
  const done = effects.map(({ amount, reference, known }) => [amount, reference, ...of(known)]);
  return { title: since ? `${title} …` : title, done, notes: of(notes) };
}
/** What stands first on the order's page. */
async function headingOf(orderId: string) {
  const [{ paymentOf }, { titleOf }] = [
    await import('../orders/payment-answer.ts'),
    await import('../../components/shop/order-title.ts'),
  ];
  const order = await shop.order(orderId);
  return titleOf(order.status, await paymentOf(order));
}
const unanswered = () => expect.unreachable('Nothing is known.');

test('an order says of its money what was answered and heard, and no more', async () => {
  const key = randomUUID();
  expect(await shop.place(await shop.cart(), { key })).toMatchObject({ ok: true });
  const { id, paymentIntent } = await orderOf(key);
  const charged = { title: 'Charged once', notes: [] };
  expect(await answerOf(id)).toEqual({ ...charged, done: [['$36.00', paymentIntent, 'answered by the provider']] });
  await shop.client.idempotencyKey.deleteMany({ where: { key } });
  expect(await answerOf(id)).toEqual({ ...charged, done: [['$36.00', paymentIntent, 'booked']] });

  const lost = await lostCheckout();
  const unknown = { title: 'Not known since …', done: [] };
  expect(await answerOf(lost.id)).toEqual({ ...unknown, notes: [] });
  await webhooks.deliver(lost.paid);
  const heard = 'Heard, and not confirmed by the provider so far';
  expect(await answerOf(lost.id)).toMatchObject({
    title: heard,
    done: [[null, lost.payment, 'said by our payment provider']],
  });
  expect(await shop.idempotency.completeDue()).toMatchObject({ settled: 1 });
  const said = ['$36.00', lost.payment, 'said by our payment provider', 'confirmed by the provider'];
  expect(await answerOf(lost.id)).toEqual({ ...charged, done: [said] });

  const declined = randomUUID();
  await shop.place(await shop.cart(), { key: declined, card: 'pm_card_chargeDeclined' });
  const refused = { title: 'Not charged', done: [], notes: ['Refused by the provider (card_declined)'] };
  expect(await answerOf((await orderOf(declined)).id)).toEqual(refused);
});

test('of what a person has ended it says nothing that the provider has not said', async () => {
  const { key, id, payment, paid } = await lostCheckout();
  await resolve(key, 'failed');
  const given = 'Given up by our staff. The provider has not said so';
  expect(await answerOf(id)).toEqual({ title: 'Not known since …', done: [], notes: [given] });
  await webhooks.deliver(paid);
  const heard = ['$36.00', payment, 'said by our payment provider', 'heard of, and expected by nobody'];
  const ended = { title: 'Charged once, by what was heard', notes: ['Given up by our staff'] };
  expect(await answerOf(id)).toEqual({ ...ended, done: [heard] });
  expect(await acts.refundUnexpected(await refundForm(id), eve)).toBe('refunded');
  expect(await answerOf(id)).toMatchObject({ done: [[...heard, expect.stringMatching(/^given back \(re_/)]] });

  const again = await lostCheckout();
  await resolve(again.key, 'retry');
  const { paymentIntent } = await shop.order(again.id);
  const first = ['$36.00', paymentIntent, 'answered by the provider'];
  const sent = expect.stringContaining('It was sent again, since our staff asked for that.');
  expect(await answerOf(again.id)).toEqual({ title: 'Charged once', done: [first], notes: [sent] });
  await webhooks.deliver(again.paid);
  expect(await answerOf(again.id)).toMatchObject({
    title: 'Charged twice',
    done: [first, ['$36.00', again.payment, 'said by our payment provider', 'heard of, and expected by nobody']],
  });
  expect(await acts.refundUnexpected(await refundForm(again.id), eve)).toBe('refunded');
});

/** A refund of $5.00 whose answer was lost. */
async function lostRefund() {
  const [cart, key] = [await shop.cart(), randomUUID()];
  const outcome = await untilFinal(() => shop.place(cart));
  if (!outcome.ok) throw new Error(JSON.stringify(outcome));
  const order = outcome.data.id;
  await shop.break({ kind: 'lose-answer', path: '/v1/refunds' });
  expect(await shop.giveBack(order, '5.00', { key })).toMatchObject({ code: 'outcome_unknown' });
  const [refund] = (await shop.moved(order)).refunds;
  return { order, key, created: (await webhookOf(refund?.id ?? '', 'refund.created')) as RefundSent };
}

test('a lost refund is ended by its webhook; one of another amount under its name is written down', async () => {
  const { order, key, created } = await lostRefund();
  const other = { ...created.event.data.object, id: 're_other', amount: 700 };
  await webhooks.deliver(signed({ ...created.event, id: `evt_${key}`, data: { object: other } }));
  await shop.idempotency.completeDue();
  expect(await row(key)).toMatchObject({ state: 'unknown' });
  expect(await waiting(order)).toMatchObject([
    { action: 'refund.unexpected', data: { providerRefund: 're_other', amountCents: 700 } },
  ]);
  await webhooks.deliver(created);
  expect(await shop.idempotency.completeDue()).toMatchObject({ settled: 1 });
  const providerRefund = created.event.data.object.id;
  expect((await shop.order(order)).refunds).toMatchObject([{ status: 'succeeded', providerRefund }]);
  expect(await held(order)).toBe(3100);
});

test('a refund that was proven, and fails before its key has ended, is set aside: nothing is booked, and a person ends it', async () => {
  const { order, key, created } = await lostRefund();
  const { id } = created.event.data.object;
  expect(await webhooks.deliver(created)).toMatchObject({ status: 204 });
  await shop.failRefund(id);
  const failed = await webhookOf(id, 'refund.failed');
  // It is not booked so far, and about to be, for all that this event can know: the provider says it again later.
  expect((await webhooks.deliver(failed)).status).toBe(202);
  expect(await shop.idempotency.completeDue()).toMatchObject({ unknown: 1 });
  expect(await row(key)).toMatchObject({ state: 'unknown', needsAttention: true });
  const aside = { where: { key, type: 'set_aside' } };
  expect(await shop.client.idempotencyEvent.findMany(aside)).toMatchObject([{ detail: { reference: id } }]);
  await resolve(key, 'failed');
  expect(await row(key)).toMatchObject({ state: 'failed' });
  expect((await webhooks.deliver(failed)).status).toBe(204);
  expect((await shop.order(order)).refunds).toMatchObject([{ status: 'failed', providerRefund: id }]);
  // It was heard of as made, and a person said otherwise: somebody looks where the money is.
  expect(await waiting(order)).toMatchObject([{ action: 'refund.unexpected', data: { providerRefund: id } }]);
  expect(await held(order)).toBe(3600);
  expectCounted((await net(order)).refunds).toBe(0);
});
