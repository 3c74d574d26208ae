import Stripe from 'stripe';
import { expect, test } from 'vitest';
import { judgePayment } from './stripe-errors.ts';

type Raw = { statusCode: number; type?: string; code?: string; decline_code?: string; param?: string };

/** The error that Stripe's package makes of an answer. */
const answered = (raw: Raw) => Stripe.errors.StripeError.generate({ message: '', ...raw } as never);

test.each([
  ['insufficient_funds', 'Your card has insufficient funds.'],
  ['do_not_honor', 'Your card was declined.'],
])('a decline is put into words for the shopper: %s', (decline_code, words) => {
  const error = answered({ statusCode: 402, type: 'card_error', code: 'card_declined', decline_code });
  const message = `${words} Nothing was charged; you can choose another card.`;
  expect(judgePayment(error)).toEqual({ refuse: 'card_declined', data: { decline_code }, status: 402, message });
});

test('a payment method that does not exist is refused, and nothing else that is missing', () => {
  const missing = { statusCode: 404, type: 'invalid_request_error', code: 'resource_missing' };
  expect(judgePayment(answered({ ...missing, param: 'payment_method' }))).toMatchObject({ refuse: 'card_declined' });
  expect(judgePayment(answered({ ...missing, param: 'payment_intent' }))).toBeUndefined();
});

test.each([
  ['a rate limit', answered({ statusCode: 429 })],
  ['a 500', answered({ statusCode: 500, type: 'api_error' })],
  ['anything', new Error()],
])('%s is left to the kit', (_, error) => expect(judgePayment(error)).toBeUndefined());
