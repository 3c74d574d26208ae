import { expect, test } from 'vitest';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import { freshKey } from '../../integration/kit.fixture.ts';
import type { SeenCall } from '../../store/leases.ts';
import { prismaStore } from '../../store/prisma/store.ts';
import { type Call, database, expectOnce, expire, provider, seenCall, shop, usePhases } from './shop.fixture.ts';

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
  expect(both.toSorted()).toEqual([false, true]);
  expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 1, settled: 0 });
  expect(await judge(first, 'ch_1')).toBe(false);
  expect(await judge(await seenCall(key), 'ch_1')).toBe(true);
  expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
  expect(await judge(await seenCall(key), 'ch_1')).toBe(false);
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
  expect(await prismaStore(database.client).recordVerdict(await seenCall(key), { kind: 'retry' }, 'ann')).toBe(true);
  // In the run that has sent it, and in the one after that.
  for (let run = 1; run <= 2; run++) {
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ unknown: 1 });
    expectCounted(provider.count(`order-of-${key}`)).toBe(1);
    await expire(key);
  }
});

test('what the code cannot make a result of is said, and finished once it can', async () => {
  const keyless: Partial<Call> = { indeterminate: 'unknown', providerKeyTtlMs: 0 };
  const errors: unknown[] = [];
  const key = freshKey();
  provider.faults = ['after'];
  const { checkout, idempotency } = shop({ onError: (error) => void errors.push(error) }, keyless);
  expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'outcome_unknown' });
  const verdict = { kind: 'succeeded', reference: 'ch_1' } as const;
  expect(await prismaStore(database.client).recordVerdict(await seenCall(key), verdict, 'ann')).toBe(true);
  expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 1, settled: 0 });
  expect(String(errors.at(-1))).toContain('neither `fromReference` nor `lookup`');
  expect(provider.sends).toBe(1);

  // The next deploy.
  const mended = shop({}, { ...keyless, fromReference: async (id) => ({ id }) });
  await expire(key);
  expect(await mended.idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
  await expectOnce(key);
});
