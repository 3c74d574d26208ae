import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import { anything, effect, freshKey, HOUR, kit } from '../../integration/kit.fixture.ts';
import { database, expectOnce, provider, rowOf, shop, usePhases } from './shop.fixture.ts';

usePhases();
beforeEach(() => database.client.idempotencyKey.deleteMany());

afterEach(() => void vi.restoreAllMocks());

/** The process's own clock, by which it looks seldom. */
function minutesPass(minutes: number): void {
  const then = performance.now() + minutes * 60_000;
  vi.spyOn(performance, 'now').mockReturnValue(then);
}

/** A worker whose modules define these operations, and what it reports. */
function worker(...operations: string[]) {
  const reported: { operation: string; key: string; during: string; message: string }[] = [];
  const idempotency = kit(database.client, {
    onError: (error, { operation, key, during }) =>
      void reported.push({ operation, key, during, message: (error as Error).message }),
  });
  for (const name of operations) {
    idempotency.operation({ name, schema: anything }).phases(({ atomic, key }) => atomic('a', (tx) => effect(tx, key)));
  }
  return { reported, completeDue: () => idempotency.completeDue({ limit: 100 }) };
}

/** A checkout whose executor died in its charge, which has been due for so long. */
async function left(fault: 'after' | 'refused', dueMs = 48 * HOUR) {
  const key = freshKey();
  provider.faults = [fault];
  await shop({}, { maxTries: 1 }).checkout.execute({ key, payload: {} });
  await database.client.$executeRaw`UPDATE idempotency_keys
    SET claimed_at = now() - ${dueMs} * interval '1 ms', lease_until = now() - ${dueMs} * interval '1 ms',
        next_attempt_at = now() - ${dueMs} * interval '1 ms' WHERE key = ${key}`;
  return key;
}

const whysOf = async (key: string) =>
  (await database.client.idempotencyEvent.findMany({ where: { key, type: 'needs_attention' } })).map(
    ({ type, detail }) => ({ type, detail }),
  );

describe('P4 unfinished keys of an operation that no worker lists', () => {
  test('are reported once, with what to add; those that may have been done are flagged, with the reason', async () => {
    const [refused, charged] = [await left('refused', 72 * HOUR), await left('after')];
    const { reported, completeDue } = worker('other');
    expect(await completeDue()).toMatchObject({ taken: 0 });
    minutesPass(2);
    await completeDue();
    expect(reported).toMatchObject([{ operation: 'pay', key: refused, during: 'setup' }]);
    expect(reported[0]?.message).toMatch(
      /keys of pay, 2 of them.* 1 may have been done .*lib\/operations.*\.as\('pay'\)/,
    );
    expect(await rowOf(charged)).toMatchObject({ state: 'in_progress', needsAttention: true });
    expect(await whysOf(charged)).toEqual([
      { type: 'needs_attention', detail: { why: expect.stringMatching(/none lists its operation/) } },
    ]);
    expect(await rowOf(refused)).toMatchObject({ needsAttention: false });
    expect(await whysOf(refused)).toEqual([]);
  });

  test('are flagged once by several workers at once', async () => {
    const charged = await left('after');
    await Promise.all(Array.from({ length: 5 }, () => worker('other').completeDue()));
    expectCounted(await whysOf(charged)).toHaveLength(1);
  });

  test('are found by a worker that knows no operation in phases at all', async () => {
    await left('after');
    const { reported, completeDue } = worker();
    await completeDue();
    expect(reported).toMatchObject([{ operation: 'pay' }]);
  });

  test('go on once it is listed again', async () => {
    const charged = await left('after');
    await worker('other').completeDue();
    expect(await shop().idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
    expect(await rowOf(charged)).toMatchObject({ state: 'succeeded', needsAttention: false });
    await expectOnce(charged);
  });
});

describe('P4 a worker says nothing of keys that it or another drives', () => {
  test('which are its own, and wait for a place', async () => {
    const charged = await left('after');
    await shop().idempotency.completeDue({ limit: 0 });
    expect(await rowOf(charged)).toMatchObject({ needsAttention: false });
  });

  test('which have been due for less than an hour', async () => {
    const charged = await left('after', 0.9 * HOUR);
    const { reported, completeDue } = worker('other');
    await completeDue();
    expect(reported).toEqual([]);
    expect(await rowOf(charged)).toMatchObject({ needsAttention: false });
  });

  test('which stand behind others of their operation that were taken within the hour', async () => {
    const [first, behind] = [await left('after', 72 * HOUR), await left('after')];
    provider.faults = ['before'];
    const { idempotency } = shop({}, { maxTries: 1 });
    expect(await idempotency.completeDue({ limit: 1 })).toMatchObject({ taken: 1, unfinished: 1 });
    const { reported, completeDue } = worker('other');
    await completeDue();
    expect(reported).toEqual([]);
    expect(await rowOf(first)).toMatchObject({ attempts: 2 });
    expect(await rowOf(behind)).toMatchObject({ attempts: 1, needsAttention: false });
  });

  test('but calls of clients alone do not count as driving it', async () => {
    const charged = await left('after');
    provider.faults = ['refused'];
    await shop({}, { maxTries: 1 }).checkout.execute({ key: freshKey(), payload: {} });
    await worker('other').completeDue();
    expect(await rowOf(charged)).toMatchObject({ needsAttention: true });
  });
});
