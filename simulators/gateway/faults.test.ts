import Stripe from 'stripe';
import { describe, expect, test, vi } from 'vitest';
import { bed, control, fault, ledger, pay, refusalOf, useBed } from './testbed.ts';

useBed();

const lastRequest = async () => (await control('/_requests')).body.at(-1);

test('latency: the charge is there before the answer', async () => {
  await fault({ kind: 'latency', ms: 500, path: '/v1/payment_intents' });
  const sentAt = performance.now();
  expect((await pay()).status).toBe('succeeded');
  expect(performance.now() - sentAt).toBeGreaterThanOrEqual(490);
  expect(await lastRequest()).toMatchObject({ fault: 'latency', status: 200 });
  await fault({ kind: 'latency', ms: 3_600_000, path: '/v1/payment_intents' });
  pay().catch(() => {}); // broken off when the gateway closes
  await vi.waitFor(async () => expect((await ledger()).charges).toHaveLength(2));
  expect(await control('/_requests')).toMatchObject({ body: [{ status: 200 }, { fault: 'latency', status: null }] });
});

test('lose-answer: the client hears nothing, the charge is made, and its key finds it', async () => {
  await fault({ kind: 'lose-answer', times: 2 });
  expect(await refusalOf(pay({ key: 'k' }))).toBeInstanceOf(Stripe.errors.StripeConnectionError);
  expect((await ledger()).charges).toHaveLength(1);
  expect(await lastRequest()).toMatchObject({ fault: 'lose-answer', status: null });
  const intent = await pay({ key: 'k' });
  expect(intent.lastResponse.headers['idempotent-replayed']).toBe('true');
  expect((await ledger()).charges).toMatchObject([{ payment_intent: intent.id }]);
});

test('lose-answer loses a refusal too', async () => {
  await fault({ kind: 'lose-answer', times: 2 });
  const error = await refusalOf(bed.stripe.paymentIntents.retrieve('pi_none'));
  expect(error).toBeInstanceOf(Stripe.errors.StripeConnectionError);
});

test('error-before: nothing is done, and the key is as new', async () => {
  await fault({ kind: 'error-before' });
  expect(await refusalOf(pay({ key: 'k' }))).toMatchObject({ statusCode: 500, rawType: 'api_error' });
  expect((await ledger()).charges).toEqual([]);
  const intent = await pay({ key: 'k' });
  expect(intent.status).toBe('succeeded');
  expect(intent.lastResponse.headers['idempotent-replayed']).toBeUndefined();
});

test('error-after: the charge is made, and the key answers 500 for ever', async () => {
  await fault({ kind: 'error-after' });
  const first = await refusalOf(pay({ key: 'k' }));
  expect(first).toMatchObject({ statusCode: 500, rawType: 'api_error' });
  expect(first.headers).not.toHaveProperty('idempotent-replayed');
  const replayed = { 'idempotent-replayed': 'true', 'stripe-should-retry': 'false' };
  expect(await refusalOf(pay({ key: 'k' }))).toMatchObject({ statusCode: 500, headers: replayed });
  expect((await ledger()).charges).toMatchObject([{ idempotency_key: 'k' }]);
});

test('error-after waits for a request that runs', async () => {
  await pay({ key: 'k' });
  await fault({ kind: 'error-after' });
  expect((await pay({ key: 'k' })).status).toBe('succeeded');
  expect(await refusalOf(pay({ key: 'k2' }))).toMatchObject({ statusCode: 500 });
});

test('decline: a good card is declined, and stays so under its key', async () => {
  await fault({ kind: 'decline' });
  // It waits for a request that charges a card.
  const waiting = await bed.stripe.paymentIntents.create({ amount: 5, currency: 'usd' });
  expect(waiting.status).toBe('requires_payment_method');
  const declined = { statusCode: 402, code: 'card_declined', decline_code: 'generic_decline' };
  expect(await refusalOf(pay({ key: 'k' }))).toMatchObject(declined);
  expect(await refusalOf(pay({ key: 'k' }))).toMatchObject(declined);
  expect((await pay({ key: 'k2' })).status).toBe('succeeded');
  await fault({ kind: 'decline' });
  const late = bed.stripe.paymentIntents.confirm(waiting.id, { payment_method: 'pm_card_visa' });
  expect(await refusalOf(late)).toMatchObject(declined);
});

test('rate-limit: 429 with advice, and nothing done', async () => {
  await fault({ kind: 'rate-limit' });
  const error = await refusalOf(pay({ key: 'k' }));
  expect(error).toBeInstanceOf(Stripe.errors.StripeRateLimitError);
  expect(error).toMatchObject({ statusCode: 429, code: 'rate_limit', rawType: 'invalid_request_error' });
  expect(error.headers).toMatchObject({ 'retry-after': '1', 'stripe-should-retry': 'true' });
  expect((await ledger()).charges).toEqual([]);
  expect((await pay({ key: 'k' })).status).toBe('succeeded');
});

test('lock-timeout: the object is in use, and nothing is done', async () => {
  await fault({ kind: 'lock-timeout' });
  const error = await refusalOf(pay({ key: 'k' }));
  expect(error).toMatchObject({ statusCode: 429, code: 'lock_timeout', headers: { 'stripe-should-retry': 'true' } });
  expect((await ledger()).charges).toEqual([]);
  expect((await pay({ key: 'k' })).status).toBe('succeeded');
});

describe('down', () => {
  test('lasts for its time, for every request of its path', async () => {
    const { id } = await pay();
    await fault({ kind: 'down', ms: 60_000, path: '/v1/payment_intents', times: 1 });
    for (const ask of [pay, pay, () => bed.stripe.paymentIntents.retrieve(id)]) {
      expect(await refusalOf(ask())).toBeInstanceOf(Stripe.errors.StripeConnectionError);
    }
    expect((await bed.stripe.refunds.list()).data).toEqual([]);
    expect((await ledger()).charges).toHaveLength(1);
    bed.laterMs = 60_000;
    expect((await pay()).status).toBe('succeeded');
  });

  test('without a time lasts until it is called off', async () => {
    await fault({ kind: 'down', method: 'POST' });
    bed.laterMs = 3_600_000;
    expect(await refusalOf(pay())).toBeInstanceOf(Stripe.errors.StripeConnectionError);
    expect((await bed.stripe.paymentIntents.list()).data).toEqual([]);
    expect((await control('/_faults', 'DELETE')).status).toBe(204);
    expect((await pay()).status).toBe('succeeded');
  });
});

test('a fault hits its path and method, so many times; a request gets one', async () => {
  await fault({ kind: 'error-before', path: '/v1/refunds', times: 2 });
  await fault({ kind: 'error-before', path: '/v1/payment_intents', method: 'GET' });
  await fault({ kind: 'rate-limit', path: '/v1/refunds' });
  expect((await pay()).status).toBe('succeeded');
  const list = () => bed.stripe.refunds.list();
  const statuses = [await refusalOf(list()), await refusalOf(list()), await refusalOf(list())];
  expect(statuses.map(({ statusCode }) => statusCode)).toEqual([500, 500, 429]);
  expect((await list()).data).toEqual([]);
  expect(await refusalOf(bed.stripe.paymentIntents.list())).toMatchObject({ statusCode: 500 });
  const { body } = await control('/_faults');
  expect(body.map(({ remaining }: { remaining: number }) => remaining)).toEqual([0, 0, 0]);
});

describe('a fault that makes no sense is refused', () => {
  test.each([
    ['{', 'must be JSON'],
    ['[]', 'must be a JSON object'],
    [
      {},
      '"kind" must be one of: latency, lose-answer, error-before, error-after, decline, rate-limit, lock-timeout, down.',
    ],
    [{ kind: 'explode' }, '"kind" must be one of'],
    [{ kind: 'down', path: '/checkout' }, 'starts with "/v1"'],
    [{ kind: 'down', path: '/v1/*' }, 'no "*"'],
    [{ kind: 'down', time: 2 }, 'Known: kind, path, method, times, ms.'],
    [{ kind: 'down', times: 0 }, '"times" must be a whole number from 1'],
    [{ kind: 'down', ms: '5' }, '"ms" must be a whole number'],
    [{ kind: 'down', method: 'post' }, '"method" must be GET, POST or DELETE'],
    [{ kind: 'latency' }, '"latency" needs "ms"'],
    [{ kind: 'decline', path: '/v1/refunds' }, 'charges a card'],
  ])('%j', async (given, sentence) => {
    const { status, body } = await control('/_faults', 'POST', given);
    expect([status, body.error]).toEqual([400, expect.stringContaining(sentence)]);
    expect((await control('/_faults')).body).toEqual([]);
  });
});
