import type { ForeignRequest } from 'oncekit';
import { expect, test } from 'vitest';
import { bed, control, fault, useBed } from '../../simulators/gateway/testbed.ts';
import { type StripeCall, StripePendingError, stripeCall } from './call.ts';

useBed();

const request: ForeignRequest = {
  idempotencyKey: 'derived',
  signal: new AbortController().signal,
  deadlineMs: 5000.7,
  headers: {},
};
const params = { currency: 'usd', payment_method: 'pm_card_visa', confirm: true };

/** The smallest call that somebody writes. */
const charge = (more: Partial<StripeCall<{ amount: number }, { id: string }>> = {}) =>
  stripeCall({
    arguments: { amount: 500 },
    send: async ({ amount }, options) => {
      const { id } = await bed.stripe.paymentIntents.create({ ...params, amount }, options);
      return { id };
    },
    ...more,
  });
const requests = async () => (await control('/_requests')).body;

test('a send carries the derived key: twice sent, once charged', async () => {
  const call = charge();
  const first = await call.send(call.arguments, request);
  expect(await call.send(call.arguments, request)).toEqual(first);
  expect(await requests()).toMatchObject([
    { idempotency_key: 'derived', replayed: false },
    { idempotency_key: 'derived', replayed: true },
  ]);
});

test('a send takes no longer than is left', async () => {
  await fault({ kind: 'latency', ms: 3_600_000 });
  const call = charge();
  const error = await call.send(call.arguments, { ...request, deadlineMs: 0.4 }).catch((thrown: unknown) => thrown);
  expect(String(error)).toContain('timeout being reached (1ms)');
  expect(call.judge?.(error)).toBe('indeterminate');
});

test("Stripe's client sends nothing again by itself, whatever it was told for all requests", async () => {
  await fault({ kind: 'error-before', times: 5 });
  const eager = bed.stripe;
  Object.assign(eager, { _maxNetworkRetries: 3 });
  const call = charge();
  await expect(call.send(call.arguments, request)).rejects.toMatchObject({ statusCode: 500 });
  expect(await requests()).toHaveLength(1);
});

test('a look-up and a reference are asked without a key', async () => {
  const asked: unknown[] = [];
  const call = charge({
    lookup: async (_, options) => {
      asked.push(options);
      return 'absent';
    },
    fromReference: async (id, options) => {
      asked.push(options);
      return { id };
    },
  });
  expect(await call.lookup?.(call.arguments, request)).toBe('absent');
  expect(await call.fromReference?.('pi_1', request)).toEqual({ id: 'pi_1' });
  expect(asked).toEqual(Array(2).fill({ timeout: 5000, maxNetworkRetries: 0 }));
});

test('its error says how long its limiter asks to wait, which the kit follows', async () => {
  await fault({ kind: 'rate-limit' });
  const call = charge();
  const limited: unknown = await call.send(call.arguments, request).catch((error: unknown) => error);
  expect(limited).toMatchObject({ statusCode: 429, retryAfterMs: 1000 });
  expect(call.judge?.(limited)).toBe('not_executed');
  await fault({ kind: 'error-before' });
  await expect(call.send(call.arguments, request)).rejects.not.toHaveProperty('retryAfterMs');
});

test("Stripe's defaults hold until others are given", () => {
  const { send, judge, ...told } = charge();
  const day = 24 * 3_600_000;
  expect(told).toEqual({
    arguments: { amount: 500 },
    ...{ dependency: 'stripe', indeterminate: 'retry', providerKeyTtlMs: day },
  });
  const given = {
    receipt: ({ id }: { id: string }) => ({ reference: id }),
    providerKeyTtlMs: 1,
    dependency: 'eu',
    indeterminate: 'lookup',
    timeoutMs: 7,
    version: 2,
  } as const;
  expect(charge({ ...given, upcasts: { 1: {} } })).toMatchObject({ ...given, upcasts: { 1: {} } });
});

test('a judge of one’s own goes first, and may leave the rest', async () => {
  await fault({ kind: 'rate-limit' });
  const limited = await bed.stripe.balance.retrieve().catch((thrown: unknown) => thrown);
  const call = charge({ judge: (error) => (error === 'mine' ? { refuse: 'mine' } : undefined) });
  expect(call.judge?.('mine')).toEqual({ refuse: 'mine' });
  expect(call.judge?.(limited)).toBe('not_executed');
  expect(call.judge?.(new StripePendingError('It is processing.'))).toBe('look_up');
});
