import { describe, expect, test } from 'vitest';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import { freshKey } from '../../integration/kit.fixture.ts';
import { movedTime } from '../../integration/moved-time.fixture.ts';
import type { SeenCall } from '../../store/evidence.ts';
import { prismaStore } from '../../store/prisma/store.ts';
import type { Provider } from './phases.fixture.ts';
import {
  type Call,
  database,
  expectOnce,
  expire,
  provider,
  rowOf,
  seenCall,
  shop,
  stepsOf,
  usePhases,
} from './shop.fixture.ts';

usePhases();

test('a mistyped reference can be given again', async () => {
  provider.honoursKeys = false;
  const how: Partial<Call> = {
    indeterminate: 'unknown',
    providerKeyTtlMs: 0,
    fromReference: async (id) => {
      if (id !== 'ch_1') throw new Error('no such charge');
      return { id };
    },
  };
  const { checkout, idempotency } = shop({}, how);
  const key = freshKey();
  provider.faults = ['after'];
  await checkout.execute({ key, payload: {} });
  const store = prismaStore(database.client);
  const judge = (seen: SeenCall, reference: string) =>
    store.recordVerdict(seen, { kind: 'succeeded', reference }, 'ann');
  const first = await seenCall(key);
  // Two persons at once: one verdict counts, and the other is told that the key has changed.
  const both = await Promise.all([judge(first, 'ch_x'), judge(first, 'ch_y')]);
  expect(both.toSorted()).toEqual(['changed', 'recorded']);
  expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 1, settled: 0 });
  expect(await judge(first, 'ch_1')).toBe('changed');
  expect(await judge(await seenCall(key), 'ch_1')).toBe('recorded');
  expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
  expect(await judge(await seenCall(key), 'ch_1')).toBe('changed');
  await expectOnce(key);
  expect(await checkout.execute({ key, payload: {} })).toMatchObject({ ok: true, data: { charge: 'ch_1' } });
});

test('what a person vouched for covers one send: a look-up that lags behind it is no reason for a second', async () => {
  provider.honoursKeys = false;
  const how = { indeterminate: 'lookup' as const, providerKeyTtlMs: 0, settleMs: 60_000 };
  const { checkout, idempotency } = shop({}, { ...how, lookup: async ({ order }) => provider.find(order) });
  const key = freshKey();
  provider.faults = ['before', 'after'];
  provider.says = 'absent';
  expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'outcome_unknown' });
  expect(await prismaStore(database.client).recordVerdict(await seenCall(key), { kind: 'retry' }, 'ann')).toBe(
    'recorded',
  );
  // In the run that has sent it, and in the one after that.
  for (let run = 1; run <= 2; run++) {
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ unknown: 1 });
    expectCounted(provider.count(`order-of-${key}`)).toBe(1);
    await expire(key);
  }
});

describe('a person says that it went through, and the provider does not', () => {
  const lookup: Call['lookup'] = async ({ order }) => provider.find(order);

  const passDay = (key: string) => movedTime(database.client).pass(key, 25 * 3_600_000);

  test.each<[string, Provider['faults'][number], (key: string) => Promise<void>]>([
    ['where every send had proved that nothing was done', 'refused', async () => {}],
    ['where the provider remembers no keys any more', 'after', passDay],
  ])('it is not sent again, and waits for the person: %s', async (_, fault, pass) => {
    const { checkout, idempotency } = shop({}, { lookup }, { attentionAfterMs: 0 });
    const key = freshKey();
    provider.faults = [fault];
    await checkout.execute({ key, payload: {}, innerRetries: false });
    await pass(key);
    const charges = provider.charges.size;
    provider.says = 'absent';
    const verdict = { kind: 'succeeded', reference: 'ch_hand' } as const;
    expect(await prismaStore(database.client).recordVerdict(await seenCall(key), verdict, 'ann')).toBe('recorded');
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ unknown: 1 });
    expect(await rowOf(key)).toMatchObject({ state: 'unknown', needsAttention: true });
    expect((await stepsOf(key)).at(-1)).toMatchObject({ state: 'started', verdict: 'succeeded', reference: 'ch_hand' });
    expect(provider.sends).toBe(1);
    expectCounted(provider.charges.size).toBe(charges);

    // The charge by hand is found in the end.
    provider.says = undefined;
    provider.charges.set('by hand', { id: 'ch_hand', amount: 100, order: `order-of-${key}` });
    await expire(key);
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
    expect(provider.sends).toBe(1);
  });
});

test.each([
  ['charged', 'after', 0],
  ['not charged', 'before', 1],
] as const)(
  '"send it again" asks first, also where nothing is ever sent again by itself: %s',
  async (_, fault, more) => {
    provider.honoursKeys = false;
    const lookup: Call['lookup'] = async ({ order }) => provider.find(order);
    const { checkout, idempotency } = shop({}, { indeterminate: 'unknown', providerKeyTtlMs: 0, lookup, maxTries: 1 });
    const key = freshKey();
    provider.faults = [fault];
    provider.says = 'nothing';
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'outcome_unknown' });
    expect(await prismaStore(database.client).recordVerdict(await seenCall(key), { kind: 'retry' }, 'ann')).toBe(
      'recorded',
    );
    // It is asked until there is an answer.
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ unknown: 1 });
    provider.says = undefined;
    await expire(key);
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
    expect(provider.sends).toBe(1 + more);
    await expectOnce(key);
  },
);

test('where the reference makes no result, the look-up may find it', async () => {
  provider.honoursKeys = false;
  const lookup: Call['lookup'] = async ({ order }) => provider.find(order);
  const fromReference = async () => {
    throw new Error('no such charge');
  };
  const how: Partial<Call> = { indeterminate: 'unknown', providerKeyTtlMs: 0, lookup, fromReference };
  const { checkout, idempotency } = shop({}, how);
  const key = freshKey();
  provider.faults = ['after'];
  provider.says = 'absent';
  await checkout.execute({ key, payload: {} });
  const verdict = { kind: 'succeeded', reference: 'mistyped' } as const;
  expect(await prismaStore(database.client).recordVerdict(await seenCall(key), verdict, 'ann')).toBe('recorded');
  provider.says = undefined;
  expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
  expect(provider.sends).toBe(1);
  await expectOnce(key);
});

test('what has done nothing since a person vouched for the sends before it is sent again', async () => {
  provider.honoursKeys = false;
  const { checkout, idempotency } = shop({}, { indeterminate: 'unknown', providerKeyTtlMs: 0, maxTries: 2 });
  const key = freshKey();
  provider.faults = ['before', 'refused'];
  expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'outcome_unknown' });
  expect(await prismaStore(database.client).recordVerdict(await seenCall(key), { kind: 'retry' }, 'ann')).toBe(
    'recorded',
  );
  expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
  expect(provider.sends).toBe(3);
  await expectOnce(key);
});

test('what the code cannot make a result of is said, and finished once it can', async () => {
  const keyless: Partial<Call> = { indeterminate: 'unknown', providerKeyTtlMs: 0 };
  const errors: unknown[] = [];
  const key = freshKey();
  provider.faults = ['after'];
  const { checkout, idempotency } = shop({ onError: (error) => void errors.push(error) }, keyless);
  expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'outcome_unknown' });
  const verdict = { kind: 'succeeded', reference: 'ch_1' } as const;
  expect(await prismaStore(database.client).recordVerdict(await seenCall(key), verdict, 'ann')).toBe('recorded');
  expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 1, settled: 0 });
  expect(String(errors.at(-1))).toContain('neither `fromReference` nor `lookup`');
  expect(provider.sends).toBe(1);

  // The next deploy.
  const mended = shop({}, { ...keyless, fromReference: async (id) => ({ id }) });
  await expire(key);
  expect(await mended.idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
  await expectOnce(key);
});
