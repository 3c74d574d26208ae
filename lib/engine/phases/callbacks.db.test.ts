import { describe, expect, test } from 'vitest';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import { anything, effect, effects, freshKey, kit } from '../../integration/kit.fixture.ts';
import { prismaStore } from '../../store/prisma/store.ts';
import type { OperationOptions } from '../definition.ts';
import type { LogEntry } from '../log.ts';
import { type Call, database, expire, provider, rowOf, seenCall, shop, usePhases } from './shop.fixture.ts';

usePhases();

/** Errors as `onError` has heard them: `reported` is given to a kit. */
function hearing() {
  const errors: Error[] = [];
  return { errors, onError: (error: unknown) => void errors.push(error as Error) };
}

describe('A11 what a look-up says and is no answer is no finding, and is reported', () => {
  test.each<[string, unknown]>([
    ['an empty search', { found: undefined }],
    ['found: null', { found: null }],
    ['an object without it', {}],
    ['a list', []],
    ['true', true],
    ['nothing', undefined],
    ['another word', 'found'],
  ])('%s', async (_, said) => {
    const { errors, onError } = hearing();
    const lookup = async () => said as never;
    const { checkout, idempotency } = shop({ onError }, { indeterminate: 'lookup', maxTries: 2, lookup });
    const key = freshKey();
    provider.faults = ['before'];
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'outcome_unknown' });
    expect(await rowOf(key)).toMatchObject({ state: 'unknown' });
    expect(errors).toMatchObject([
      { name: 'ConfigurationError', message: expect.stringContaining('lookup of charge_created') },
    ]);
    await expire(key);
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ unknown: 1 });
    expectCounted(provider.count(`order-of-${key}`)).toBe(0);
  });

  test("'done' is one, of a call that has no result", async () => {
    let said: unknown = { found: undefined };
    const notify = kit(database.client)
      .operation({ name: 'pay', schema: anything })
      .phases(async ({ foreign, key }) => {
        await foreign<object, void>('mail', {
          arguments: { key },
          send: async () => {
            throw new Error('lost');
          },
          lookup: async () => said as 'done',
          indeterminate: 'lookup',
          maxTries: 2,
        });
        return 'sent';
      });
    const key = freshKey();
    expect(await notify.execute({ key, payload: {} })).toMatchObject({ code: 'outcome_unknown' });
    said = 'done';
    await expire(key);
    expect(await notify.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true, data: 'sent' });
  });
});

test.each<[string, Partial<OperationOptions<typeof anything, never>>]>([
  ['admit: NaN', { admit: () => Number.NaN }],
  ['admit: less than nothing', { admit: async () => -1 }],
  ['admit: without a return', { admit: (() => {}) as never }],
  ['admit: false', { admit: (() => false) as never }],
  ['fingerprint: a promise', { fingerprint: async () => 'the cart' }],
])('what the kit cannot read is a ConfigurationError, and nothing is executed: %s', async (what, options) => {
  const order = kit(database.client)
    .operation({ name: 'order', schema: anything, ...(options as object) })
    .handler(async ({ tx, key }) => effect(tx, key));
  const key = freshKey();
  await expect(order.execute({ key, payload: {} })).rejects.toThrow(`${what.split(':')[0]} of order has returned`);
  expectCounted(await effects(database.client, key)).toBe(0);
});

test('an answer of mayReplay that is none is a no, which is reported', async () => {
  const { errors, onError } = hearing();
  const order = kit(database.client, { onError })
    .operation({ name: 'order', schema: anything, mayReplay: (() => {}) as never })
    .handler(async ({ tx, key }) => effect(tx, key));
  const key = freshKey();
  expect(await order.execute({ key, payload: {} })).toMatchObject({ ok: true });
  expect(await order.execute({ key, payload: {} })).toMatchObject({ code: 'unauthorized' });
  expect(errors).toMatchObject([
    { name: 'ConfigurationError', message: expect.stringContaining('mayReplay of order') },
  ]);
});

test('an upcast that is async leads nowhere: nobody is told a promise', async () => {
  const { errors, onError } = hearing();
  const order = (options: object) =>
    kit(database.client, { onError })
      .operation({ name: 'order', schema: anything, ...options })
      .handler(async () => 'done');
  const key = freshKey();
  await order({}).execute({ key, payload: {} });
  const told = await order({ schemaVersion: 2, upcasts: { 1: async (data: string) => data } }).execute({
    key,
    payload: {},
  });
  expect(told).toMatchObject({ code: 'result_unreadable', executed: true });
  expect(errors).toMatchObject([{ name: 'ResultUnreadableError', cause: { name: 'ConfigurationError' } }]);
});

test.each<[string, { compensates?: string }]>([
  ['a charge that cannot say whether it needs a compensation does', {}],
  ['a refund that cannot say whether anything came of it has compensated nothing', { compensates: 'charge' }],
])('%s: the key is a person’s', async (_, more) => {
  const { errors, onError } = hearing();
  const unsure = { ...more, needsCompensation: (async () => false) as never };
  const pay = kit(database.client, { onError })
    .operation({ name: 'pay', schema: anything })
    .phases(async ({ foreign, key, fail }) => {
      await foreign('charge', { ...provider.call(key), needsCompensation: more.compensates !== undefined });
      await foreign('another', { ...provider.call(`${key}-2`), ...unsure });
      return fail('sold_out');
    });
  const key = freshKey();
  expect(await pay.execute({ key, payload: {} })).toMatchObject({ code: 'failed', executed: true });
  expect(await rowOf(key)).toMatchObject({ needsAttention: true });
  expect(errors).toMatchObject([{ message: expect.stringContaining('needsCompensation of another') }]);
});

describe('what a send or a look-up fails with is told by its name', () => {
  class StripeAuthenticationError extends Error {
    override readonly name = 'StripeAuthenticationError';
    readonly code = 'api_key_expired';
  }
  const refused = () => {
    throw new StripeAuthenticationError('No such key: sk_live_1234', { cause: new TypeError('fetch sk_live_1234') });
  };
  const NAME = 'StripeAuthenticationError api_key_expired, because of TypeError';

  test.each<[string, Partial<Call>, { of: string; code: string }]>([
    ['send', { send: refused }, { of: 'send', code: 'unavailable' }],
    ['lookup', { indeterminate: 'lookup', lookup: refused }, { of: 'lookup', code: 'outcome_unknown' }],
  ])('%s: to onError, in the log and among the events of its key, once', async (_, how, { of, code }) => {
    const { errors, onError } = hearing();
    const entries: LogEntry[] = [];
    const log = (entry: LogEntry) => void entries.push(entry);
    const { checkout, idempotency } = shop({ onError, log }, { maxTries: 2, judge: () => 'indeterminate', ...how });
    const key = freshKey();
    provider.faults = ['after'];
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code });
    await expire(key);
    await idempotency.completeDue({ limit: 100 });
    expect(errors).toMatchObject([{ cause: { name: 'StripeAuthenticationError' } }, { cause: {} }]);
    const told = entries.filter(({ level }) => level === 'error');
    expect(told).toMatchObject([{ code, error: `CodedError ${code}, because of ${NAME}` }, { code }]);
    const { operation, tenant, principal } = await seenCall(key);
    const events = await prismaStore(database.client).events({ operation, tenant, principal, key });
    const failed = events.filter(({ type }) => type === 'call_failed');
    expect(failed).toMatchObject([{ actor: 'executor', detail: { step: 'charge_created', of, error: NAME } }]);
    expect(JSON.stringify([entries, events])).not.toContain('sk_live');
  });
});
