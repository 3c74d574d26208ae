import { describe, expect, test } from 'vitest';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import { anything, effects, freshKey, gate, kit } from '../../integration/kit.fixture.ts';
import { prismaStore } from '../../store/prisma/store.ts';
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

describe('a foreign call', () => {
  test('is sent again under the same key when its answer is lost: one charge', async () => {
    const { checkout } = shop();
    const key = freshKey();
    provider.faults = ['after', 'before'];
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ ok: true, data: { charge: 'ch_1' } });
    expect(provider.sends).toBe(3);
    await expectOnce(key);
  });

  test('a declared terminal error is a stored refusal', async () => {
    const { checkout } = shop();
    const key = freshKey();
    provider.faults = ['declined'];
    const refused = { code: 'failed', reason: 'card_declined', data: { code: 'generic' }, executed: false };
    expect(await checkout.execute({ key, payload: {} })).toMatchObject(refused);
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ ...refused, replayed: true });
    expect(provider.sends).toBe(1);
    expectCounted(await effects(database.client, `${key}:undone:card_declined`)).toBe(1);
  });

  test('a catch around it turns no lost answer into an answer', async () => {
    const key = freshKey();
    provider.faults = ['after', 'after', 'after', 'after'];
    const pay = kit(database.client)
      .operation({ name: 'pay', schema: anything })
      .phases(async ({ foreign, fail }) => {
        try {
          return await foreign('charge_created', provider.call(key));
        } catch {
          return fail('gave_up');
        }
      });
    expect(await pay.execute({ key, payload: {} })).toMatchObject({ code: 'unavailable', executed: 'unknown' });
    expect(await rowOf(key)).toMatchObject({ state: 'in_progress' });
    expect(await pay.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true });
    expectCounted(provider.count(key)).toBe(1);
  });

  test('what cannot be told by a send is looked up: one charge, not sent again', async () => {
    const { checkout } = shop({}, { lookup: async ({ order }) => provider.find(order) });
    const key = freshKey();
    provider.faults = ['after', 'replayed'];
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ ok: true });
    expect([provider.sends, provider.lookups]).toEqual([2, 1]);
    await expectOnce(key);
  });

  test('past the provider’s memory it is looked up, not sent', async () => {
    const { checkout, idempotency } = shop({}, { lookup: async ({ order }) => provider.find(order), maxTries: 1 });
    const key = freshKey();
    provider.faults = ['after'];
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'unavailable' });
    await database.client.$executeRaw`UPDATE idempotency_phases
      SET first_sent_at = first_sent_at - interval '23 h', last_sent_at = last_sent_at - interval '23 h' WHERE key = ${key}`;
    await expire(key);
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
    expect([provider.sends, provider.lookups]).toEqual([1, 1]);
    await expectOnce(key);
  });

  test('S4 without keys and without look-up it becomes unknown, and waits for a person', async () => {
    provider.honoursKeys = false;
    const { checkout, idempotency } = shop(
      {},
      { indeterminate: 'unknown', providerKeyTtlMs: 0, fromReference: async (id) => ({ id }) },
    );
    const key = freshKey();
    provider.faults = ['after'];
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({
      code: 'outcome_unknown',
      executed: 'unknown',
    });
    expect(await rowOf(key)).toMatchObject({ state: 'unknown', needsAttention: true, nextAttemptAt: null });
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 0 });
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'outcome_unknown' });
    expect(provider.sends).toBe(1);
  });

  test('S4 an unknown outcome is asked about until it is known, and then the rest runs', async () => {
    provider.honoursKeys = false;
    const how = { indeterminate: 'lookup' as const, providerKeyTtlMs: 0, maxTries: 1 };
    const { checkout, idempotency } = shop({}, { ...how, lookup: async ({ order }) => provider.find(order) });
    const key = freshKey();
    provider.faults = ['after'];
    provider.says = 'pending';
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'outcome_unknown' });
    const token = (await rowOf(key))?.fencingToken ?? 0;
    await expire(key);
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 1, unknown: 1 });
    provider.says = undefined;
    await expire(key);
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 1, settled: 1 });
    expect(provider.sends).toBe(1);
    await expectOnce(key);
    expect(await rowOf(key)).toMatchObject({ state: 'succeeded', fencingToken: token + 1 });
  });

  test('S4 one that is never sent again is asked about all the same, for as long as it takes', async () => {
    provider.honoursKeys = false;
    const lookup = async ({ order }: { order: string }) => provider.find(order);
    const { checkout, idempotency } = shop({}, { indeterminate: 'unknown', providerKeyTtlMs: 0, lookup });
    const key = freshKey();
    provider.faults = ['after'];
    provider.says = 'absent'; // the provider's search lags behind
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'outcome_unknown' });
    await expire(key);
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 1, unknown: 1 });
    expect(await rowOf(key)).toMatchObject({ needsAttention: true, nextAttemptAt: expect.any(Date) });
    provider.says = undefined;
    await expire(key);
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 1, settled: 1 });
    expect(provider.sends).toBe(1);
    await expectOnce(key);
  });

  test('P3 after a takeover, "absent" from a provider without keys is never sent again', async () => {
    provider.honoursKeys = false;
    const how = { indeterminate: 'lookup' as const, providerKeyTtlMs: 0 };
    const { checkout, idempotency } = shop({}, { ...how, lookup: async ({ order }) => provider.find(order) });
    const key = freshKey();
    const stop = gate();
    provider.onCharge = () => stop.opened; // sent, not answered
    const first = checkout.execute({ key, payload: {} });
    await expect.poll(() => provider.sends, { interval: 5 }).toBe(1);
    provider.says = 'absent';
    await expire(key);
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 1, unknown: 1 });
    expect(provider.sends).toBe(1);
    // The late answer of the first executor is not lost: the key is due, and the truth is found.
    stop.open();
    provider.says = undefined;
    expect(await first).toMatchObject({ code: 'outcome_unknown' });
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ taken: 1, settled: 1 });
    await expectOnce(key);
  });
});

describe('S4 the receipt of a call that is done', () => {
  const receipt: Call['receipt'] = ({ id }) => ({ reference: id, amount: '$1.00' });
  const chargeOf = async (key: string) => (await stepsOf(key)).find(({ kind }) => kind === 'foreign');
  const KEPT = { state: 'done', result: null, arguments: null, reference: 'ch_1', amount: '$1.00' };

  test('stays when the key settles, and says that it was answered', async () => {
    const key = freshKey();
    expect(await shop({}, { receipt }).checkout.execute({ key, payload: {} })).toMatchObject({ ok: true });
    expect(await chargeOf(key)).toMatchObject({ ...KEPT, knownBy: 'answer' });
  });

  test.each([
    ['was found by a look-up', 'lookup', { lookup: async ({ order }) => provider.find(order) }],
    ['was read by a reference that was given', 'reference', { fromReference: async (id) => ({ id }) }],
  ] as [string, string, Partial<Call>][])('says that it %s', async (_, knownBy, how) => {
    provider.honoursKeys = false;
    const never = { indeterminate: 'unknown', providerKeyTtlMs: 0, maxTries: 1, receipt } as const;
    const { checkout, idempotency } = shop({}, { ...never, ...how });
    const key = freshKey();
    provider.faults = ['after'];
    provider.says = 'absent';
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'outcome_unknown' });
    provider.says = undefined;
    if (knownBy === 'reference') {
      const verdict = { kind: 'succeeded', reference: 'ch_1' } as const;
      expect(await prismaStore(database.client).recordVerdict(await seenCall(key), verdict, 'eve')).toBe('recorded');
    }
    await expire(key);
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
    expect(await chargeOf(key)).toMatchObject({ ...KEPT, knownBy });
    expectCounted(provider.sends).toBe(1);
  });

  const rejected = () => Promise.reject(new Error('late')) as never;
  test.each<[string, () => unknown]>([
    ['throws', () => JSON.parse('')],
    ['gives a promise', rejected],
    ['gives no object', () => null],
    ['has no reference', () => ({ amount: '$1.00' })],
    ['has one that no column takes', () => ({ reference: 'ch_1\0' })],
    ['has an amount that is no text', () => ({ reference: 'ch_1', amount: 100 })],
  ])('is told and left out where it %s: the call is done once, and counts', async (_, odd) => {
    const told: unknown[] = [];
    const key = freshKey();
    const { checkout } = shop({ onError: (error) => void told.push(error) }, { receipt: odd as Call['receipt'] });
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ ok: true, data: { charge: 'ch_1' } });
    expect(told).toHaveLength(1);
    expect(await chargeOf(key)).toMatchObject({ ...KEPT, knownBy: 'answer', reference: null, amount: null });
    await expectOnce(key);
    expectCounted(provider.sends).toBe(1);
  });

  test('is none where nothing came of the call', async () => {
    const told: unknown[] = [];
    const key = freshKey();
    const { checkout } = shop({ onError: (error) => void told.push(error) }, { receipt: () => undefined });
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ ok: true });
    expect([told, (await chargeOf(key))?.reference]).toEqual([[], null]);
  });
});

describe('H4 the patience of the caller', () => {
  test('a call is told its key, its time, and that it need not be retried below', async () => {
    let told: Record<string, string> = {};
    const { checkout } = shop(
      {},
      {
        send: async (_, { headers }) => {
          told = headers;
          return { id: 'ch_1' };
        },
      },
    );
    const key = freshKey();
    await checkout.execute({ key, payload: {}, deadlineMs: 5000 });
    const [step] = (await stepsOf(key)).filter(({ kind }) => kind === 'foreign');
    expect(told).toEqual({
      'Idempotency-Key': step?.derivedKey,
      'X-Request-Timeout': expect.stringMatching(/^[1-4]\d{3}$/),
      'X-Retry-Layer': 'none',
    });
  });

  test('where the caller retries, a call is sent once', async () => {
    const { checkout } = shop();
    provider.faults = ['before', 'before'];
    const request = { key: freshKey(), payload: {} };
    expect(await checkout.execute({ ...request, innerRetries: false })).toMatchObject({ code: 'unavailable' });
    expect(provider.sends).toBe(1);
    expect(await checkout.execute({ ...request, attempt: 2 })).toMatchObject({ ok: true });
    expect(provider.sends).toBe(3);
  });

  test('to ask is no retry: it is done also where the caller retries', async () => {
    const { checkout } = shop({}, { lookup: async ({ order }) => provider.find(order) });
    const key = freshKey();
    provider.charges.set('of an earlier send', { id: 'ch_1', amount: 100, order: `order-of-${key}` });
    provider.faults = ['replayed'];
    expect(await checkout.execute({ key, payload: {}, innerRetries: false })).toMatchObject({ ok: true });
    expect([provider.sends, provider.lookups]).toEqual([1, 1]);
  });

  test('a caller that has given up ends the run before its next step, and a worker goes on', async () => {
    const { checkout, idempotency } = shop();
    const key = freshKey();
    const given = new AbortController();
    provider.onCharge = () => given.abort();
    const request = { key, payload: {}, signal: given.signal };
    expect(await checkout.execute(request)).toMatchObject({ code: 'unavailable', executed: 'unknown' });
    expectCounted(await effects(database.client, `${key}:finished`)).toBe(0);
    expect(await checkout.execute(request)).toMatchObject({ code: 'unavailable' });
    await expire(key);
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
    await expectOnce(key);
  });
});
