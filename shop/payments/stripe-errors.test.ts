import Stripe from 'stripe';
import { describe, expect, test } from 'vitest';
import { judgePayment } from './stripe-errors.ts';

type Raw = { statusCode: number; type?: string; code?: string; param?: string; headers?: Record<string, string> };

/** The error that Stripe's package makes of an answer. */
const answered = (raw: Raw) => Stripe.errors.StripeError.generate({ message: '', ...raw } as never);
const connection = (detail: object) =>
  new Stripe.errors.StripeConnectionError({ message: 'no connection', detail } as never);
const replayed = { headers: { 'idempotent-replayed': 'true' } };

describe('certain', () => {
  test('a declined card ends the intent', () => {
    const error = answered({ statusCode: 402, type: 'card_error', code: 'card_declined' });
    expect(judgePayment(error)).toMatchObject({ refuse: 'card_declined', status: 402 });
  });

  test('also where the decline is replayed', () => {
    const error = answered({ statusCode: 402, type: 'card_error', code: 'card_declined', ...replayed });
    expect(judgePayment(error)).toMatchObject({ refuse: 'card_declined' });
  });

  test.each([401, 403, 429])('%i: nothing was begun', (statusCode) => {
    expect(judgePayment(answered({ statusCode }))).toBe('not_executed');
  });

  test.each([
    Object.assign(new Error(), { code: 'ECONNREFUSED', syscall: 'connect' }),
    Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }),
    Object.assign(new Error(), { code: 'ENOTFOUND' }),
  ])('no connection: %o', (detail) => {
    expect(judgePayment(connection(detail))).toBe('not_executed');
  });
});

describe('not certain', () => {
  test.each([
    ['a 500', answered({ statusCode: 500, type: 'api_error' })],
    ['a key in use', answered({ statusCode: 409, type: 'idempotency_error', code: 'idempotency_key_in_use' })],
    ['a connection that broke', connection(new Error('socket hang up', { cause: { code: 'ECONNRESET' } }))],
    ['a time-out', connection(Object.assign(new Error(), { code: 'ETIMEDOUT' }))],
    ['an abort', new DOMException('too late', 'TimeoutError')],
    ['an answer that is no JSON', new Stripe.errors.StripeAPIError({ message: 'Invalid JSON' } as never)],
  ])('%s', (_, error) => expect(judgePayment(error)).toBe('indeterminate'));
});

describe('to be asked', () => {
  test.each([
    ['a replayed 500', { statusCode: 500, type: 'api_error', ...replayed }],
    ['other parameters under the key', { statusCode: 400, type: 'idempotency_error' }],
    ['refunded already', { statusCode: 400, type: 'invalid_request_error', code: 'charge_already_refunded' }],
    ['paid already', { statusCode: 400, type: 'invalid_request_error', code: 'payment_intent_unexpected_state' }],
    ['a mistake of our own', { statusCode: 400, type: 'invalid_request_error', param: 'amount' }],
  ])('%s', (_, raw) => expect(judgePayment(answered(raw))).toBe('look_up'));
});
