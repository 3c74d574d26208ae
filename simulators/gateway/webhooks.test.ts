import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import Stripe from 'stripe';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { bed, control, pay, refusalOf, restart, useBed } from './testbed.ts';

const secret = 'whsec_test';
let app: Server;
let statuses: (number | Promise<number>)[];
let received: { event: Stripe.Event; status: number }[];

useBed();

beforeEach(async () => {
  [statuses, received] = [[], []];
  app = createServer(async (req, res) => {
    const body = await text(req);
    // Throws, and so answers nothing, when the signature is wrong.
    const event = Stripe.webhooks.constructEvent(body, String(req.headers['stripe-signature']), secret);
    const answer = statuses.shift() ?? 200;
    if (typeof answer === 'number') received.push({ event, status: answer });
    res.writeHead(await answer).end();
  });
  await once(app.listen(0, '127.0.0.1'), 'listening');
  await restart({ webhook: endpoint() });
});

afterEach(() => {
  app.closeAllConnections();
  app.close();
});

const endpoint = (firstRetryMs = 10) => ({
  url: `http://127.0.0.1:${(app.address() as AddressInfo).port}/`,
  secret,
  firstRetryMs,
});
const types = () => received.map(({ event }) => event.type).sort();
const settled = () =>
  vi.waitFor(async () => {
    const { data } = await bed.stripe.events.list({ limit: 100 });
    expect(data.map(({ pending_webhooks }) => pending_webhooks)).not.toContain(1);
    return data;
  });

test('each event arrives signed, and is listed', async () => {
  const intent = await pay({ key: 'k' });
  await bed.stripe.refunds.create({ payment_intent: intent.id });
  const { payment_intent: failed } = await refusalOf(pay({ card: 'pm_card_chargeDeclined' }));
  const { status, body: dispute } = await control('/_dispute', 'POST', { payment_intent: intent.id });
  expect([status, dispute]).toMatchObject([201, { object: 'dispute', charge: intent.latest_charge }]);
  const listed = await settled();
  expect(types()).toEqual([
    'charge.dispute.created',
    'charge.refunded',
    'payment_intent.payment_failed',
    'payment_intent.succeeded',
    'refund.created',
  ]);
  expect(listed.map(({ id }) => id).sort()).toEqual(received.map(({ event }) => event.id).sort());
  const paid = received.find(({ event }) => event.type === 'payment_intent.succeeded')?.event;
  expect(paid).toMatchObject({ object: 'event', data: { object: intent }, request: { idempotency_key: 'k' } });
  expect(await bed.stripe.events.retrieve(paid?.id ?? '')).toEqual({ ...paid, pending_webhooks: 0 });
  const refused = (await bed.stripe.events.list({ type: 'payment_intent.payment_failed' })).data;
  expect(refused).toMatchObject([{ data: { object: { id: failed?.id, status: 'requires_payment_method' } } }]);
  const refunded = (await bed.stripe.events.list({ type: 'charge.refunded' })).data;
  expect(refunded).toMatchObject([{ data: { object: { refunded: true, amount_refunded: 2000 } } }]);
});

test('a disputed charge is neither refunded nor disputed again', async () => {
  const { id: payment_intent } = await pay();
  await control('/_dispute', 'POST', { payment_intent });
  expect(await refusalOf(bed.stripe.refunds.create({ payment_intent }))).toMatchObject({ code: 'charge_disputed' });
  expect((await control('/_dispute', 'POST', { payment_intent })).status).toBe(400);
  expect((await control('/_dispute', 'POST', { payment_intent: 'pi_none' })).status).toBe(404);
});

test('an event that was refused comes again', async () => {
  statuses = [500, 302, 404];
  await pay();
  await settled();
  expect(received.map(({ status }) => status)).toEqual([500, 302, 404, 200]);
  expect(new Set(received.map(({ event }) => event.id)).size).toBe(1);
});

test('what was not delivered is delivered after a restart, and what was delivered is not', async () => {
  const first = await pay();
  await settled();
  statuses = [500];
  await restart({ webhook: endpoint(600_000) });
  const second = await pay();
  await vi.waitFor(() => expect(received).toHaveLength(2));
  await restart({ webhook: endpoint() });
  await settled();
  const ids = received.map(({ event }) => (event.data.object as Stripe.PaymentIntent).id);
  expect(ids).toEqual([first.id, second.id, second.id]);
});

test('an endpoint that does not answer delays nothing', async () => {
  let answer = (_: number) => {};
  statuses = [new Promise<number>((resolve) => (answer = resolve))];
  expect((await pay()).status).toBe('succeeded');
  expect((await pay()).status).toBe('succeeded');
  answer(200);
  await settled();
});

test('without an endpoint no delivery is owed', async () => {
  await restart();
  await pay();
  expect((await bed.stripe.events.list()).data).toMatchObject([{ pending_webhooks: 0 }]);
});
