import { request } from 'node:http';
import Stripe from 'stripe';
import { describe, expect, test } from 'vitest';
import { bed, control, ledger, pay, refusalOf, useBed } from './testbed.ts';

useBed();

describe('payment intents', () => {
  test('a good card is charged at once, with Stripe in the shape of everything', async () => {
    const intent = await pay({ amount: 1999, order: 'o7', key: 'k' });
    expect(intent).toMatchObject({
      object: 'payment_intent',
      status: 'succeeded',
      amount: 1999,
      amount_received: 1999,
    });
    expect(intent.latest_charge).toMatch(/^ch_/);
    expect(intent.lastResponse.requestId).toMatch(/^req_/);
    expect(await bed.stripe.paymentIntents.retrieve(intent.id)).toEqual(intent);
    expect((await ledger()).charges).toEqual([
      {
        id: intent.latest_charge,
        payment_intent: intent.id,
        amount: 1999,
        currency: 'usd',
        metadata: { order_id: 'o7' },
        idempotency_key: 'k',
        created: intent.created,
      },
    ]);
  });

  test('without confirm nothing is charged until it is confirmed, and then once', async () => {
    const card = { payment_method: 'pm_card_mastercard' };
    const intent = await bed.stripe.paymentIntents.create({ amount: 500, currency: 'EUR', ...card });
    expect(intent).toMatchObject({ status: 'requires_confirmation', currency: 'eur', latest_charge: null });
    expect((await ledger()).charges).toEqual([]);
    expect(await bed.stripe.paymentIntents.confirm(intent.id)).toMatchObject({ id: intent.id, status: 'succeeded' });
    const again = await refusalOf(bed.stripe.paymentIntents.confirm(intent.id));
    expect(again).toMatchObject({ statusCode: 400, code: 'payment_intent_unexpected_state' });
    expect(again.payment_intent).toMatchObject({ id: intent.id, status: 'succeeded' });
    expect((await ledger()).charges).toHaveLength(1);
  });

  test('a canceled one is never charged; a paid one cannot be canceled', async () => {
    const intent = await bed.stripe.paymentIntents.create({ amount: 500, currency: 'usd' });
    expect(intent.status).toBe('requires_payment_method');
    const why = { cancellation_reason: 'abandoned' } as const;
    expect(await bed.stripe.paymentIntents.cancel(intent.id, why)).toMatchObject({ status: 'canceled', ...why });
    const late = bed.stripe.paymentIntents.confirm(intent.id, { payment_method: 'pm_card_visa' });
    expect(await refusalOf(late)).toMatchObject({ code: 'payment_intent_unexpected_state' });
    const paid = await pay();
    const canceling = await refusalOf(bed.stripe.paymentIntents.cancel(paid.id));
    expect(canceling).toMatchObject({ statusCode: 400, code: 'payment_intent_unexpected_state' });
    expect((await ledger()).charges).toHaveLength(1);
  });

  test.each([
    ['pm_card_chargeDeclined', 'card_declined', 'generic_decline'],
    ['pm_card_chargeDeclinedInsufficientFunds', 'card_declined', 'insufficient_funds'],
    ['pm_card_visa_chargeDeclinedExpiredCard', 'expired_card', 'expired_card'],
  ])('%s declines, and its intent waits for another card', async (card, code, decline_code) => {
    const error = await refusalOf(pay({ card }));
    expect(error).toBeInstanceOf(Stripe.errors.StripeCardError);
    expect(error).toMatchObject({ statusCode: 402, rawType: 'card_error', code, decline_code });
    const intent = await bed.stripe.paymentIntents.retrieve(error.payment_intent?.id ?? '');
    const last_payment_error = { type: 'card_error', code, decline_code };
    expect(intent).toMatchObject({ status: 'requires_payment_method', payment_method: null, last_payment_error });
    expect((await ledger()).charges).toEqual([]);
    const paid = await bed.stripe.paymentIntents.confirm(intent.id, { payment_method: 'pm_card_visa' });
    expect(paid).toMatchObject({ status: 'succeeded', last_payment_error: null });
  });

  test('are listed newest first, page by page', async () => {
    const ids: string[] = [];
    for (let count = 0; count < 5; count += 1) ids.unshift((await pay()).id);
    const first = await bed.stripe.paymentIntents.list({ limit: 2 });
    expect(first).toMatchObject({ object: 'list', has_more: true, url: '/v1/payment_intents' });
    expect(first.data.map(({ id }) => id)).toEqual(ids.slice(0, 2));
    const all = await bed.stripe.paymentIntents.list({ limit: 2 }).autoPagingToArray({ limit: 100 });
    expect(all.map(({ id }) => id)).toEqual(ids);
    bed.laterMs = 60_000;
    const late = await pay();
    const since = await bed.stripe.paymentIntents.list({ created: { gte: late.created } });
    expect(since.data.map(({ id }) => id)).toEqual([late.id]);
  });

  test('are found by their metadata', async () => {
    const order = "it's \\ 7";
    const [one, two] = [await pay({ order }), await pay({ order })];
    await pay({ order: 'another' });
    const query = String.raw`metadata['order_id']:'it\'s \\ 7' AND status:'succeeded'`;
    const found = await bed.stripe.paymentIntents.search({ query });
    expect(found).toMatchObject({ object: 'search_result', has_more: false, next_page: null });
    expect(found.data.map(({ id }) => id)).toEqual([two.id, one.id]);
    const paged = await bed.stripe.paymentIntents.search({ query, limit: 1 }).autoPagingToArray({ limit: 9 });
    expect(paged.map(({ id }) => id)).toEqual([two.id, one.id]);
    expect((await bed.stripe.paymentIntents.search({ query: "metadata['order_id']:'none'" })).data).toEqual([]);
    expect(await refusalOf(bed.stripe.paymentIntents.search({ query: 'amount>5' }))).toMatchObject({ statusCode: 400 });
  });
});

describe('refunds', () => {
  test('add up to the charge and no further', async () => {
    const { id: payment_intent, latest_charge } = await pay({ amount: 1000 });
    const part = await bed.stripe.refunds.create({ payment_intent, amount: 300, metadata: { n: '1' } });
    expect(part).toMatchObject({ object: 'refund', status: 'succeeded', amount: 300, charge: latest_charge });
    const more = await refusalOf(bed.stripe.refunds.create({ payment_intent, amount: 701 }));
    expect(more).toMatchObject({ statusCode: 400, rawType: 'invalid_request_error', param: 'amount' });
    expect(more.message).toBe('Refund amount ($7.01) is greater than unrefunded amount on charge ($7.00)');
    const rest = await bed.stripe.refunds.create({ payment_intent, reason: 'requested_by_customer' });
    expect(rest.amount).toBe(700);
    const none = await refusalOf(bed.stripe.refunds.create({ payment_intent, amount: 1 }));
    expect(none).toMatchObject({ statusCode: 400, code: 'charge_already_refunded' });

    expect(await bed.stripe.refunds.retrieve(part.id)).toEqual(part);
    await bed.stripe.refunds.create({ payment_intent: (await pay({ order: 'o2' })).id });
    const listed = await bed.stripe.refunds.list({ payment_intent });
    expect(listed.data.map(({ id }) => id)).toEqual([rest.id, part.id]);
    const { refunds } = await ledger('?order_id=o1');
    expect(refunds).toMatchObject([
      { id: part.id, payment_intent, charge: latest_charge, amount: 300, metadata: { n: '1' } },
      { id: rest.id, amount: 700 },
    ]);
  });

  test('need a successful charge', async () => {
    const { payment_intent } = await refusalOf(pay({ card: 'pm_card_chargeDeclined' }));
    const refused = await refusalOf(bed.stripe.refunds.create({ payment_intent: payment_intent?.id ?? '' }));
    expect(refused).toMatchObject({ statusCode: 400, param: 'payment_intent' });
    expect(refused.message).toContain('does not have a successful charge');
  });
});

describe('the API refuses', () => {
  const get = (path: string) => bed.stripe.rawRequest('GET', path);
  const post = (path: string, params: Record<string, unknown>) => bed.stripe.rawRequest('POST', path, params);
  const intents = '/v1/payment_intents';
  const money = { amount: 100, currency: 'usd' };

  test.each<[string, () => Promise<unknown>, number, Record<string, unknown>]>([
    ['an unknown payment', () => get(`${intents}/pi_none`), 404, { code: 'resource_missing' }],
    ['an unknown refund', () => get('/v1/refunds/re_none'), 404, { code: 'resource_missing' }],
    ['an unknown event', () => get('/v1/events/evt_none'), 404, { code: 'resource_missing' }],
    ['an id that is no encoding', () => get(`${intents}/%ff`), 404, { code: 'resource_missing' }],
    [
      'an unknown path',
      () => post('/v1/customers', {}),
      404,
      { message: expect.stringMatching(/^Unrecognized request URL/) },
    ],
    ['no amount', () => post(intents, { currency: 'usd' }), 400, { code: 'parameter_missing', param: 'amount' }],
    ['half a cent', () => post(intents, { ...money, amount: 1.5 }), 400, { code: 'parameter_invalid_integer' }],
    ['no money', () => post(intents, { ...money, amount: 0 }), 400, { code: 'parameter_invalid_integer' }],
    ['no currency', () => post(intents, { amount: 1 }), 400, { code: 'parameter_missing', param: 'currency' }],
    ['no card', () => post(intents, { ...money, confirm: true }), 400, { param: 'payment_method' }],
    ['a card of no test', () => post(intents, { ...money, payment_method: 'pm_x' }), 404, { code: 'resource_missing' }],
    [
      'a charge for later',
      () => post(intents, { ...money, capture_method: 'manual' }),
      400,
      { param: 'capture_method' },
    ],
    ['a refund of nothing', () => post('/v1/refunds', {}), 400, { param: 'payment_intent' }],
    ['a made-up reason', () => post('/v1/refunds', { reason: 'mood' }), 400, { param: 'reason' }],
    ['an endless page', () => get(`${intents}?limit=101`), 400, { param: 'limit' }],
  ])('%s', async (_, ask, statusCode, more) => {
    expect(await refusalOf(ask())).toMatchObject({ statusCode, rawType: 'invalid_request_error', ...more });
    expect((await control('/_ledger')).body).toEqual({ charges: [], refunds: [] });
  });

  test.each([undefined, 'Bearer nonsense', 'Bearer sk_live_x', 'Basic '])(
    'the authorization %s',
    async (authorization) => {
      const headers = new Headers(authorization === undefined ? [] : [['authorization', authorization]]);
      const res = await fetch(`${bed.gateway.url}/v1/payment_intents`, { headers });
      expect(res.status).toBe(401);
      expect((await res.json()).error).toMatchObject({ type: 'invalid_request_error' });
    },
  );

  test('more than 1 MiB', async () => {
    const body = `x=${'y'.repeat(1024 * 1024)}`;
    const headers = { authorization: 'Bearer sk_test_x' };
    const res = await fetch(`${bed.gateway.url}/v1/payment_intents`, { method: 'POST', body, headers });
    expect(res.status).toBe(413);
    expect((await res.json()).error.message).toContain('1 MiB');
  });

  test('nothing that it merely does not know: other parameters are left alone', async () => {
    const unknown = {
      off_session: true,
      expand: ['latest_charge'],
      'metadata[__proto__]': 'x',
      nonsense: { deep: [1] },
    };
    const params = { ...money, ...unknown, payment_method: 'pm_card_visa', confirm: true };
    expect(await post(intents, params)).toMatchObject({ status: 'succeeded' });
  });
});

describe('the control', () => {
  const ask = (headers: Record<string, string>) =>
    new Promise((resolve, reject) => {
      const out = request(`${bed.gateway.url}/_ledger`, { headers }, (res) => resolve(res.resume().statusCode));
      out.on('error', reject).end();
    });

  test.each([
    [{ Host: 'evil.example' }, 403],
    [{ Origin: 'https://evil.example' }, 403],
    [{ Origin: 'null' }, 403],
    [{ Origin: 'http://localhost:3000' }, 200],
    [{ Host: '[::1]:9' }, 200],
  ])('answers to %j with %i', async (headers, status) => {
    expect(await ask(headers)).toBe(status);
  });

  test('says what it knows', async () => {
    expect(await control('/_nothing')).toMatchObject({
      status: 404,
      body: { error: expect.stringContaining('/_faults') },
    });
    expect(await control('/_ledger', 'DELETE')).toMatchObject({
      status: 405,
      body: { error: expect.stringContaining('GET') },
    });
  });

  test('lists what was asked', async () => {
    const intent = await pay({ key: 'k' });
    await pay({ key: 'k' });
    const asked = { method: 'POST', path: '/v1/payment_intents', idempotency_key: 'k', status: 200, fault: null };
    const requests = (await control('/_requests')).body;
    expect(requests).toMatchObject([
      { ...asked, id: intent.lastResponse.requestId, replayed: false },
      { ...asked, replayed: true },
    ]);
  });
});
