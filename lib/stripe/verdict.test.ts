import { once } from 'node:events';
import { createServer } from 'node:net';
import Stripe from 'stripe';
import { describe, expect, test, vi } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { bound } from '../../scripts/testing/patience.ts';
import { bed, clientOf, fault, ledger, pay, refusalOf, useBed } from '../../simulators/gateway/testbed.ts';
import { judgeStripeError } from './call.ts';

useBed();

const charges = async () => (await ledger()).charges.length;
/** The error with which Stripe's own client rejects, and what it proves. */
const judged = async (request: Promise<unknown>) => {
  const error = await refusalOf(request);
  return { type: error.type, status: error.statusCode, verdict: judgeStripeError(error) };
};

describe('not executed, for certain', () => {
  test('a rate limit', async () => {
    await fault({ kind: 'rate-limit' });
    const found = await judged(pay());
    expect(found).toEqual({ type: 'StripeRateLimitError', status: 429, verdict: 'not_executed' });
    expectCounted(await charges()).toBe(0);
  });

  test('an API key that is refused', async () => {
    const stranger = new Stripe('no_key', { host: '127.0.0.1', port: bed.gateway.port, protocol: 'http' });
    const found = await judged(stranger.paymentIntents.create({ amount: 1, currency: 'usd' }));
    expect(found).toEqual({ type: 'StripeAuthenticationError', status: 401, verdict: 'not_executed' });
  });

  test('a right that the API key lacks', () => {
    expect(judgeStripeError(answered({ statusCode: 403, type: 'invalid_request_error' }))).toBe('not_executed');
  });

  test('a connection that is refused', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as { port: number };
    await new Promise((done) => closed.close(done));
    const found = await judged(clientOf(port).balance.retrieve());
    expect(found).toEqual({ type: 'StripeConnectionError', status: undefined, verdict: 'not_executed' });
  });

  test('a host that is not found', async () => {
    const nowhere = new Stripe('sk_test_x', { host: 'stripe.invalid', maxNetworkRetries: 0 });
    expect(await judged(nowhere.balance.retrieve())).toMatchObject({ verdict: 'not_executed' });
  });
});

describe('final', () => {
  test('a declined card, and its replay', async () => {
    const verdict = {
      refuse: 'card_declined',
      status: 402,
      data: { decline_code: 'generic_decline' },
      message: expect.stringMatching(/declined/),
    };
    for (const _ of ['first', 'replayed']) {
      const found = await judged(pay({ key: 'k', card: 'pm_card_chargeDeclined' }));
      expect(found).toEqual({ type: 'StripeCardError', status: 402, verdict });
    }
  });
});

describe('may have been done', () => {
  test('a lost answer', async () => {
    await fault({ kind: 'lose-answer', times: 2 });
    expect(await judged(pay())).toMatchObject({ type: 'StripeConnectionError', verdict: 'indeterminate' });
    expectCounted(await charges()).toBe(1);
  });

  test('an answer that comes too late', async () => {
    await fault({ kind: 'latency', ms: 2000 });
    const late = bed.stripe.paymentIntents.create(
      { amount: 5, currency: 'usd', payment_method: 'pm_card_visa', confirm: true },
      { timeout: bound(50) },
    );
    expect(await judged(late)).toMatchObject({ type: 'StripeConnectionError', verdict: 'indeterminate' });
    await vi.waitFor(async () => expectCounted(await charges()).toBe(1));
  });

  test.each(['error-before', 'error-after'])('a 500: %s', async (kind) => {
    await fault({ kind });
    expect(await judged(pay())).toEqual({ type: 'StripeAPIError', status: 500, verdict: 'indeterminate' });
    expectCounted(await charges()).toBe(kind === 'error-after' ? 1 : 0);
  });

  test('a key in use', async () => {
    await fault({ kind: 'latency', ms: 2000 });
    const first = pay({ key: 'k' });
    await vi.waitFor(async () => expectCounted(await charges()).toBe(1));
    expect(await judged(pay({ key: 'k' }))).toMatchObject({ status: 409, verdict: 'indeterminate' });
    await first;
  });

  test('an object that is locked, whatever the status', async () => {
    await fault({ kind: 'lock-timeout' });
    expect(await judged(pay())).toMatchObject({ status: 429, verdict: 'indeterminate' });
    expect(judgeStripeError(answered({ statusCode: 409, code: 'lock_timeout' }))).toBe('indeterminate');
    expect(judgeStripeError(answered({ statusCode: 400, code: 'lock_timeout' }))).toBe('indeterminate');
  });

  test.each([
    ['an abort', new DOMException('too late', 'TimeoutError')],
    ['an answer that is no JSON', new Stripe.errors.StripeAPIError({ message: 'Invalid JSON' } as never)],
    ['an error of other code', Object.assign(new Error('no'), { statusCode: 429 })],
    ['no error at all', 'no'],
  ])('%s', (_, error) => expect(judgeStripeError(error)).toBe('indeterminate'));
});

describe('to be asked', () => {
  test('a 500 that is replayed, beside a charge that was made', async () => {
    await fault({ kind: 'error-after' });
    await refusalOf(pay({ key: 'k' }));
    expect(await judged(pay({ key: 'k' }))).toMatchObject({ status: 500, verdict: 'look_up' });
    expectCounted(await charges()).toBe(1);
  });

  test('other parameters under the key', async () => {
    await pay({ key: 'k' });
    const found = await judged(pay({ key: 'k', amount: 1 }));
    expect(found).toEqual({ type: 'StripeIdempotencyError', status: 400, verdict: 'look_up' });
  });

  test('a request that is wrong', async () => {
    const found = await judged(pay({ amount: 0 }));
    expect(found).toEqual({ type: 'StripeInvalidRequestError', status: 400, verdict: 'look_up' });
  });

  test('what is not there, and what is done already', async () => {
    const { id: payment_intent } = await pay({ amount: 100 });
    expect(await judged(bed.stripe.refunds.create({ payment_intent: 'pi_none' }))).toMatchObject({
      verdict: 'look_up',
    });
    await bed.stripe.refunds.create({ payment_intent });
    expect(await judged(bed.stripe.refunds.create({ payment_intent }))).toMatchObject({ verdict: 'look_up' });
  });
});

/** The error that Stripe's package makes of an answer which the gateway does not give. */
function answered(raw: { statusCode: number; type?: string; code?: string }) {
  return Stripe.errors.StripeError.generate({ message: '', ...raw } as never);
}
