import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../../scripts/testing/test-database.ts';
import { ANN, anything, effect, effects, freshKey, gate, kit, rowsOf, type Tx } from '../../integration/kit.fixture.ts';
import { skipTime } from '../../integration/skip-time.fixture.ts';
import { prismaStore } from '../../store/prisma/store.ts';
import type { ForeignCall } from './context.ts';
import { Provider } from './phases.fixture.ts';

/** Runs that hold a key in phases, and executions in one transaction, at the edges of what they may still do. */

let database: TestDatabase;
let provider: Provider;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());
beforeEach(() => {
  provider = new Provider();
});

type KitOptions = Parameters<typeof kit>[1];
type Call = Partial<ForeignCall<{ amount: number; order: string }, { id: string }>>;

/** A payment that its provider does not know again, and that nobody can ask about. */
const BLIND: Call = { indeterminate: 'unknown', providerKeyTtlMs: 0, maxTries: 1 };

function shop(call: Call, options: KitOptions = {}, client = database.client) {
  const idempotency = kit(client, options);
  const pay = idempotency.operation({ name: 'pay', schema: anything }).phases(async ({ foreign, atomic, key }) => {
    const { id } = await foreign('charge_created', provider.call(key, call));
    await atomic('finished', async (tx) => await effect(tx, key));
    return id;
  });
  return { idempotency, pay };
}

const store = () => prismaStore(database.client);
const idOf = (key: string) => ({ ...ANN, operation: 'pay', key });
const seenOf = async (key: string) => ({ ...idOf(key), ...(await store().asSeen(idOf(key))) });
const tokenOf = async (key: string) => (await rowsOf(database.client, key))[0]?.fencingToken ?? 0;

describe('a person says that a payment did not happen, and is to be sent again', () => {
  const sayRetry = async (key: string) => await store().recordVerdict(await seenOf(key), { kind: 'retry' }, 'eve');

  test('S4 for that once: a send whose answer is lost is not sent on the strength of the old word', async () => {
    provider.honoursKeys = false;
    const { idempotency, pay } = shop(BLIND);
    const key = freshKey();
    provider.faults = ['before', 'after'];
    expect(await pay.execute({ key, payload: {} })).toMatchObject({ code: 'outcome_unknown' });
    expect(await sayRetry(key)).toBe('recorded');
    expect(await idempotency.completeKey(idOf(key))).toBe('unknown');
    expectCounted([provider.sends, provider.count(key)]).toEqual([2, 1]);
    expect(await store().retryNow({ ...idOf(key), fencingToken: await tokenOf(key) }, 'eve')).toBe(true);
    expect(await idempotency.completeKey(idOf(key))).toBe('unknown');
    expectCounted([provider.sends, provider.count(key)]).toEqual([2, 1]);
  });

  test('S4 a run that ends right before that send leaves the word to the next one', async () => {
    provider.honoursKeys = false;
    const faults = ['before-started'];
    const onPoint = (point: string) => {
      if (provider.sends === 1 && point === faults[0]) throw new Error(`ended at ${faults.shift()}`);
    };
    const { idempotency, pay } = shop(BLIND, { onPoint });
    const key = freshKey();
    provider.faults = ['before'];
    expect(await pay.execute({ key, payload: {} })).toMatchObject({ code: 'outcome_unknown' });
    expect(await sayRetry(key)).toBe('recorded');
    await idempotency.completeKey(idOf(key));
    expect([faults, provider.sends]).toEqual([[], 1]);
    expect(await pay.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true });
    expectCounted([provider.sends, provider.count(key), await effects(database.client, key)]).toEqual([2, 1, 1]);
  });
});

test('P3 a phase that outlasts the lease keeps it: its transaction holds the key, and renews it by ending', async () => {
  const leaseMs = 1000;
  const pay = kit(database.client, { leaseMs })
    .operation({ name: 'pay', schema: anything, timeoutMs: 20_000 })
    .phases(async ({ atomic, key }) => {
      await atomic('slow', async (tx) => {
        await effect(tx, key);
        for (const until = performance.now() + 2.5 * leaseMs; performance.now() < until; ) await tx.$queryRaw`SELECT 1`;
      });
      return 'paid';
    });
  const key = freshKey();
  expect(await pay.execute({ key, payload: {} })).toMatchObject({ ok: true, replayed: false, data: 'paid' });
  expectCounted(await effects(database.client, key)).toBe(1);
});

test('P3 a renewal under the token that an unknown key had until just now ends no run', async () => {
  const key = freshKey();
  const asking: Call = { indeterminate: 'lookup', maxTries: 1 };
  const lost = shop({ ...asking, lookup: async () => provider.find(key) });
  provider.faults = ['after'];
  provider.says = 'nothing';
  expect(await lost.pay.execute({ key, payload: {} })).toMatchObject({ code: 'outcome_unknown' });
  await database.client
    .$executeRaw`UPDATE idempotency_keys SET next_attempt_at = now() - interval '1 s' WHERE key = ${key}`;

  const [asked, found, answered] = [gate(), gate(), gate()];
  // A renewal of the unknown key is on its way for as long as it takes to lead the key back.
  const client = database.client.$extends({
    query: {
      $queryRawUnsafe: async ({ args, query }) => {
        const [text, ...values] = args as unknown as [string, ...unknown[]];
        const isRenewal = /^\s*UPDATE idempotency_keys SET\s+lease_until/.test(text) && values[4] === 'unknown';
        if (!isRenewal) return await query(args);
        asked.open();
        await found.opened;
        return await query(args).finally(() => setImmediate(answered.open));
      },
    },
  });
  const onPoint = async (point: string) => {
    if (point !== 'after-recorded') return;
    found.open();
    await answered.opened;
  };
  const lookup = async () => {
    await asked.opened;
    return { found: { id: 'ch_1' } };
  };
  // Through Prisma, so that the client's extension sees the renewal.
  const options = { leaseMs: 6000, onPoint, transaction: 'interactive' as const };
  const { idempotency } = shop({ ...asking, lookup }, options, client as never);
  expect(await idempotency.completeKey(idOf(key))).toBe('succeeded');
  expectCounted(await effects(database.client, key)).toBe(1);
});

test('C2 a joiner that has more time than its starter had leads where the starter’s time was up', async () => {
  const [started, end] = [gate(), gate()];
  let runs = 0;
  const checkout = kit(database.client)
    .operation({ name: 'checkout', schema: anything })
    .handler(async ({ tx, key }) => {
      await effect(tx, key);
      if (++runs > 1) return runs;
      started.open();
      await end.opened;
      await effect(tx, `${key}:late`); // refused: its transaction is over
      return runs;
    });
  const key = freshKey();
  const leading = checkout.execute({ key, payload: {}, deadlineMs: 20_000 });
  await started.opened;
  const following = checkout.execute({ key, payload: {}, waitMs: 60_000 });
  const sameTime = checkout.execute({ key, payload: {}, deadlineMs: 1 });
  expect(await sameTime).toMatchObject({ code: 'in_flight' });
  skipTime(20_000);
  expect(await leading).toMatchObject({ code: 'unavailable' }); // its time is up, whatever its handler does
  end.open();
  expect(await following).toMatchObject({ ok: true, replayed: false, data: 2 });
  expectCounted(await effects(database.client, key)).toBe(1);
});

test.each([
  ['without', {}],
  ['with', { onPoint: () => {} }],
])('H4 a handler that returns when its caller’s time is up commits nothing, %s a hook', async (_, options) => {
  const checkout = kit(database.client, options)
    .operation({ name: 'checkout', schema: anything })
    .handler(async ({ tx, key }: { tx: Tx; key: string }) => {
      await effect(tx, key);
      skipTime(20_000); // no timer gets a turn between this and COMMIT
    });
  const key = freshKey();
  expect(await checkout.execute({ key, payload: {}, deadlineMs: 20_000 })).toMatchObject({
    code: 'unavailable',
    executed: false,
  });
  expectCounted([await effects(database.client, key), await rowsOf(database.client, key)]).toEqual([0, []]);
});
