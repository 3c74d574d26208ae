import { expect, test } from 'vitest';
import { bound } from '../../../scripts/testing/patience.ts';
import { LeaseLostError } from '../../core/errors.ts';
import { ANN, anything, freshKey, gate, kit, type Tx } from '../../integration/kit.fixture.ts';
import { prismaStore } from '../../store/prisma/store.ts';
import type { Store } from '../../store/store.ts';
import { idempotencyOn } from '../idempotency.ts';
import { database, expire, provider, rowOf, shop, usePhases } from './shop.fixture.ts';

usePhases();

test('a captured value that comes after its run was let go leases the key to nobody', async () => {
  const key = freshKey();
  const [late, ended] = [gate<string>(), gate()];
  let runs = 0;
  const pay = (options: { maxRunMs?: number } = {}) =>
    kit(database.client)
      .operation({ name: 'pay', schema: anything, ...options })
      .phases(async ({ capture }) => {
        const isFirst = ++runs === 1;
        try {
          return await capture('price', () => (isFirst ? late.opened : 'of the second run'));
        } finally {
          if (isFirst) ended.open();
        }
      });
  expect(await pay({ maxRunMs: 200 }).execute({ key, payload: {} })).toMatchObject({ code: 'unavailable' });
  late.open('of the first run');
  await ended.opened;
  expect(await pay().execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true, data: 'of the second run' });
});

test('nor one that comes when the key could not be let go, for the database was away: its lease ends by itself', async () => {
  const store = prismaStore(database.client);
  const key = freshKey();
  const [late, ended] = [gate<string>(), gate()];
  const suspend = () => Promise.reject(new Error('the database is away'));
  const pay = idempotencyOn<Tx>({ ...store, suspend } as Store<Tx>, { scope: () => ANN, onError: () => {} })
    .operation({ name: 'pay', schema: anything, maxRunMs: 200 })
    .phases(async ({ capture }) => {
      await capture('price', () => late.opened).finally(ended.open);
    });
  expect(await pay.execute({ key, payload: {} })).toMatchObject({ code: 'unavailable' });
  const row = await rowOf(key);
  late.open('of a run that is over');
  await ended.opened;
  expect(await rowOf(key)).toEqual(row);
});

test('one that cannot be let go in time is told why its run has ended, and not that it has', async () => {
  const store = prismaStore(database.client);
  const never = () => new Promise<never>(() => {});
  const away = async () => ({ kind: 'rolled_back', error: new Error('the database is away'), why: 'unavailable' });
  const silent = { ...store, transact: away, suspend: never, until: () => silent } as unknown as Store<Tx>;
  const pay = idempotencyOn<Tx>(silent, { scope: () => ANN, onError: () => {} })
    .operation({ name: 'pay', schema: anything })
    .phases(async ({ atomic }) => {
      await atomic('first', async () => 'with the claim');
      await new Promise((turned) => setImmediate(turned));
      await atomic('second', async () => 'never');
    });
  const told = await pay.execute({ key: freshKey(), payload: {}, deadlineMs: 300 });
  expect(told).toMatchObject({ code: 'unavailable', executed: 'unknown', retry: 'same-key' });
});

/** A key that its executor has just let go of, and what it still holds in its hand. */
async function letGo() {
  const store = prismaStore(database.client);
  const { checkout } = shop({}, { maxTries: 1 });
  const key = freshKey();
  provider.faults = ['before'];
  await checkout.execute({ key, payload: {} });
  await expire(key);
  const held = await store.takeOver({ ...ANN, operation: 'pay', key }, 30_000, true);
  if (!held) throw new Error('The key is not to be had.');
  await store.suspend(held, { pauseMs: 1000, attentionAfterMs: 900_000 });
  return { store, held, row: await rowOf(key), look: () => rowOf(key) };
}

test('who has let go of a key writes no step of it any more, and renews nothing', async () => {
  const { store, held, row, look } = await letGo();
  expect(await store.renew(held, 30_000)).toBe(false);
  await expect(store.recordCapture(held, 30_000, { name: 'late', position: 9, result: '{}' })).rejects.toBeInstanceOf(
    LeaseLostError,
  );
  expect(await look()).toEqual(row);
});

/** A store of which a renewal is under way when the run ends: it reaches the database once `isFree`. */
function slowRenewals(): { store: Store<Tx>; renewing: Promise<void>; order: string[]; free: () => void } {
  const store = prismaStore(database.client);
  const [renewing, free] = [gate(), gate()];
  const order: string[] = [];
  return {
    order,
    renewing: renewing.opened,
    free: free.open,
    store: {
      ...store,
      renew: async (held, leaseMs) => {
        renewing.open();
        await free.opened;
        const isRenewed = await store.renew(held, leaseMs);
        order.push('renewed');
        return isRenewed;
      },
      suspend: async (held, put) => {
        order.push('suspended');
        return await store.suspend(held, put);
      },
      markUnknown: async (held, how) => {
        order.push('unknown');
        return await store.markUnknown(held, how);
      },
    } as Store<Tx>,
  };
}

test('a renewal that is under way when a run throws ends before the key is let go', async () => {
  const { store, renewing, order, free } = slowRenewals();
  const key = freshKey();
  let runs = 0;
  const pay = idempotencyOn(store, { scope: () => ANN, leaseMs: bound(1800), onError: () => {} })
    .operation({ name: 'pay', schema: anything })
    .phases(async ({ atomic }) => {
      await atomic('a', async () => 1);
      if (++runs > 1) return 'done';
      await renewing;
      free(); // into the database, which takes longer than the end of this run
      throw new Error('no luck');
    });
  expect(await pay.execute({ key, payload: {} })).toMatchObject({ code: 'internal' });
  expect(order.slice(0, 2)).toEqual(['renewed', 'suspended']);
  expect(await pay.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true });
});

test('a renewal that is under way when nobody can be asked any more does not make the key due', async () => {
  const { store, renewing, order, free } = slowRenewals();
  const key = freshKey();
  const call = provider.call(key, { indeterminate: 'unknown', providerKeyTtlMs: 0 });
  let runs = 0;
  const idempotency = idempotencyOn(store, { scope: () => ANN, leaseMs: bound(1800), onError: () => {} });
  const pay = idempotency.operation({ name: 'pay', schema: anything }).phases(async ({ foreign }) => {
    if (++runs === 2) {
      await renewing;
      free();
    }
    await foreign('charge_created', call);
  });
  provider.faults = ['before'];
  expect(await pay.execute({ key, payload: {} })).toMatchObject({ code: 'outcome_unknown' });
  // Something was heard of it, so it is looked at once more, as the unknown key that it is.
  await expire(key);
  order.length = 0;
  expect(await idempotency.completeDue()).toMatchObject({ unknown: 1 });
  expect(order.slice(0, 2)).toEqual(['renewed', 'unknown']);
  expect(await rowOf(key)).toMatchObject({ state: 'unknown', needsAttention: true, nextAttemptAt: null });
});
