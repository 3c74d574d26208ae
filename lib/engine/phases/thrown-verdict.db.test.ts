import { describe, expect, test } from 'vitest';
import { notExecuted, refused } from '../../index.ts';
import { freshKey } from '../../integration/kit.fixture.ts';
import { provider, rowOf, shop, stepsOf, usePhases } from './shop.fixture.ts';

usePhases();

/** Throws it instead of the first send. */
function throwing(error: () => unknown) {
  const thrown = [error];
  return async (stored: { amount: number; order: string }, { idempotencyKey }: { idempotencyKey: string }) => {
    const next = thrown.shift();
    if (next) throw next();
    return await provider.charge(stored, idempotencyKey);
  };
}

const proven = async (key: string) =>
  (await stepsOf(key)).filter(({ kind }) => kind === 'foreign').map(({ sends, notExecuted: none }) => [sends, none]);

describe('what `send` throws is its verdict, and no judge is asked', () => {
  test('notExecuted: it is sent again, and nothing is in doubt', async () => {
    const key = freshKey();
    const judge = () => expect.unreachable();
    const { checkout } = shop({}, { send: throwing(() => notExecuted()), judge, indeterminate: 'unknown' });
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ ok: true });
    expect(await proven(key)).toEqual([[2, 1]]);
  });

  test.each<[string, number | undefined, number]>([
    ['a minute', 60_000, 60_000],
    ['a day: an hour', 86_400_000, 3_600_000],
  ])('a provider that asks to wait for %s is left alone for as long', async (_, retryAfterMs, waitedMs) => {
    const key = freshKey();
    const { checkout, idempotency } = shop({}, { send: throwing(() => notExecuted({ retryAfterMs })) });
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'unavailable', retryAfterMs: waitedMs });
    const row = await rowOf(key);
    const pausedMs = Number(row?.nextAttemptAt) - Number(row?.claimedAt);
    expect(pausedMs).toBeGreaterThanOrEqual(waitedMs);
    expect(pausedMs).toBeLessThan(waitedMs + 600_000);
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 0 });
    expect(await proven(key)).toEqual([[1, 1]]);
  });

  test('a wait that cannot be read says nothing', async () => {
    const key = freshKey();
    const { checkout } = shop({}, { send: throwing(() => notExecuted({ retryAfterMs: Number.NaN })) });
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ ok: true });
  });

  test('refused: a stored refusal, and nothing was done', async () => {
    const key = freshKey();
    const send = throwing(() => refused('card_declined', { code: 'x' }, { status: 402, message: 'Declined.' }));
    const { checkout } = shop({}, { send });
    const told = {
      code: 'failed',
      reason: 'card_declined',
      data: { code: 'x' },
      message: 'Declined.',
      executed: false,
    };
    expect(await checkout.execute({ key, payload: {} })).toMatchObject(told);
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ ...told, replayed: true });
    expect(await proven(key)).toEqual([[1, 1]]);
  });

  test.each<[string, object]>([
    ['thrown', { send: throwing(() => refused('declined', undefined, { status: 503 })) }],
    ['judged', { send: throwing(() => new Error('no')), judge: () => ({ refuse: 'declined', status: 429 }) }],
  ])('%s with a status that asks to come again: stored as 422, and reported', async (_, how) => {
    const key = freshKey();
    const errors: unknown[] = [];
    const { checkout } = shop({ onError: (error) => void errors.push(error) }, how);
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'failed', reason: 'declined' });
    expect((await rowOf(key))?.result).toContain('422');
    expect(errors).toMatchObject([{ message: expect.stringContaining('told as 422') }]);
  });
});

test.each<[string, unknown]>([
  ['nothing', undefined],
  ['an object', { a: 1 }],
  ['a person’s word', 'marked_failed'],
])('A11 refused with %s for a reason says nothing, and is reported', async (_, reason) => {
  const key = freshKey();
  const errors: unknown[] = [];
  const send = throwing(() => refused(reason as string));
  const { checkout } = shop({ onError: (error) => void errors.push(error) }, { send });
  expect(await checkout.execute({ key, payload: {} })).toMatchObject({ ok: true });
  expect(errors).toMatchObject([
    { name: 'ConfigurationError', message: expect.stringContaining('send of charge_created') },
  ]);
});

test.each([['notExecuted', notExecuted] as const, ['refused', () => refused('no')] as const])(
  'of a look-up %s is an error like any other: it says nothing of the charge',
  async (_, error) => {
    const key = freshKey();
    const lookup = async () => {
      throw error();
    };
    const { checkout } = shop({}, { indeterminate: 'lookup', maxTries: 2, lookup });
    provider.faults = ['after'];
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'outcome_unknown' });
    expect(await rowOf(key)).toMatchObject({ state: 'unknown' });
    expect(provider.sends).toBe(1);
  },
);
