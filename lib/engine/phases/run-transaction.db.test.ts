import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import type { TestDatabase } from '../../../scripts/testing/test-database.ts';
import { until } from '../../../scripts/testing/until.ts';
import { createClient } from '../../../shop/db.ts';
import { anything, effect, effects, freshKey, gate, kit, watchOf } from '../../integration/kit.fixture.ts';
import { database, expectOnce, expire, provider, rowOf, shop, stepsOf, usePhases } from './shop.fixture.ts';

usePhases({ ownsTables: true });

/** ADR 37: what is committed together, and what may be seen when. */

let elsewhere: TestDatabase['client'];
let watch: Awaited<ReturnType<typeof watchOf>>;
beforeEach(async () => {
  elsewhere = createClient(database.url);
  watch = await watchOf(database.url);
});
afterEach(async () => {
  await elsewhere.$disconnect();
  await watch.close();
});

type Phases = Parameters<ReturnType<ReturnType<typeof kit>['operation']>['phases']>[0];
const define = (phases: Phases, client = database.client) =>
  kit(client).operation({ name: 'pay', schema: anything }).phases(phases);

describe('the claim and the first phase', () => {
  test('are committed together: before that nobody sees the key, and a duplicate elsewhere is in flight', async () => {
    const key = freshKey();
    const [started, end] = [gate(), gate()];
    const pay = define(async ({ atomic, key }) =>
      atomic('order_created', async (tx) => {
        await effect(tx, `${key}:order`);
        started.open();
        await end.opened;
        return 'done';
      }),
    );
    const running = pay.execute({ key, payload: {} });
    await started.opened;
    expect(await rowOf(key)).toBeUndefined();
    const { execute, status } = define(async ({ atomic }) => atomic('order_created', async () => 'twice'), elsewhere);
    expect(await execute({ key, payload: {}, waitMs: 0 })).toMatchObject({ code: 'in_flight' });
    expect(await status({ key })).toMatchObject({ state: 'in_progress' });
    end.open();
    expect(await running).toMatchObject({ ok: true, data: 'done' });
    expect(await execute({ key, payload: {} })).toMatchObject({ ok: true, replayed: true, data: 'done' });
  });

  test('S6 are rolled back together but for what was captured, and the key can go on without its client', async () => {
    const key = freshKey();
    const prices = [7, 8, 9];
    let runs = 0;
    const idempotency = kit(database.client);
    const pay = idempotency.operation({ name: 'pay', schema: anything }).phases(async ({ atomic, capture }) => {
      const price = await capture('price', () => prices.shift());
      return await atomic('order_created', async (tx) => {
        await effect(tx, `${key}:order`);
        if (++runs <= 2) throw new Error('no luck');
        return price;
      });
    });
    expect(await pay.execute({ key, payload: {} })).toMatchObject({ code: 'internal', executed: 'unknown' });
    expectCounted(await effects(database.client, `${key}:order`)).toBe(0);
    expect(await rowOf(key)).toMatchObject({ state: 'in_progress', recoveryPoint: null });
    expect(await stepsOf(key)).toMatchObject([{ name: 'price', kind: 'capture' }]);
    await expire(key);
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 0 });
    await expire(key);
    expect(await idempotency.completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
    expectCounted(await effects(database.client, `${key}:order`)).toBe(1);
    expect(await pay.execute({ key, payload: {} })).toMatchObject({ ok: true, data: 7 });
  });

  test('are tried again together where they conflict, with the values that were captured', async () => {
    const key = freshKey();
    let tries = 0;
    const pay = define(async ({ atomic, capture }) => {
      const id = await capture('id', () => `id-${++tries}`);
      return await atomic('order_created', async (tx) => {
        await effect(tx, `${key}:order`);
        if (++tries === 2) throw Object.assign(new Error('conflict'), { code: 'P2034' });
        return id;
      });
    });
    expect(await pay.execute({ key, payload: {} })).toMatchObject({ ok: true, data: 'id-1' });
    expectCounted(await effects(database.client, `${key}:order`)).toBe(1);
    expect((await stepsOf(key)).map(({ name }) => name)).toEqual(['id', 'order_created']);
  });

  test.each([
    ['its answer is replayed', {}, { ok: true, replayed: true, data: 'there' }],
    ['another payload is refused', { other: 1 }, { code: 'payload_mismatch', executed: true }],
  ])('where they conflict, and somebody else has claimed the key meanwhile, %s', async (_, payload, told) => {
    const key = freshKey();
    const [conflicted, done] = [gate(), gate()];
    const pay = define(async ({ atomic }) =>
      atomic('order_created', async (tx) => {
        // The server gives up the ticket with the error, before the transaction is rolled back.
        await tx
          .$executeRawUnsafe(`DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END $$`)
          .catch(() => {});
        conflicted.open();
        await done.opened;
        throw Object.assign(new Error('conflict'), { code: 'P2034' });
      }),
    );
    const running = pay.execute({ key, payload });
    await conflicted.opened;
    const there = define(async ({ atomic }) => {
      await atomic('order_created', async (tx) => effect(tx, `${key}:order`));
      return 'there';
    }, elsewhere);
    expect(await there.execute({ key, payload: {} })).toMatchObject({ ok: true, replayed: false });
    done.open();
    expect(await running).toMatchObject(told);
    expectCounted(await effects(database.client, `${key}:order`)).toBe(1);
  });

  test('are apart where the function asks the database before its first step: a pool of one connection is enough', async () => {
    const key = freshKey();
    const narrow = createClient(database.url, { max: 1 });
    const pay = define(async ({ atomic }) => {
      const seen = await narrow.idempotencyKey.count({ where: { key } });
      const created = await atomic('order_created', async (tx) => effect(tx, `${key}:order`).then(() => seen));
      return { created, orders: await effects(narrow, `${key}:order`) };
    }, narrow);
    const paid = await pay.execute({ key, payload: {}, deadlineMs: 5000 });
    expect(paid).toMatchObject({ ok: true, data: { orders: 1 } });
    await narrow.$disconnect();
  });
});

describe('a phase and the step behind it', () => {
  test('whatever is asked between them finds what the phase has written', async () => {
    for (let round = 0; round < 20; round++) {
      const key = freshKey();
      const pay = define(async ({ atomic }) => {
        await atomic('order_created', (tx) => effect(tx, `${key}:order`));
        const orders = await effects(database.client, `${key}:order`);
        await atomic('finished', (tx) => effect(tx, `${key}:finished`));
        const both = orders + (await effects(database.client, `${key}:finished`));
        return await database.client.$transaction(async (tx) => both + (await effects(tx as never, `${key}:finished`)));
      });
      expect(await pay.execute({ key, payload: {} })).toMatchObject({ ok: true, data: 3 });
    }
  });

  test('a call is known to be under way, and what came before it committed, when it is sent', async () => {
    const key = freshKey();
    let seen: unknown;
    provider.onCharge = async () => {
      const [order, steps] = [await effects(elsewhere, `${key}:order`), await stepsOf(key)];
      seen = { order, steps: steps.map(({ name, state, sends }) => [name, state, sends]) };
    };
    expect(await shop().checkout.execute({ key, payload: {} })).toMatchObject({ ok: true });
    expect(seen).toEqual({
      order: 1,
      steps: [
        ['order_id', 'done', 0],
        ['order_created', 'done', 0],
        ['charge_created', 'started', 1],
      ],
    });
    await expectOnce(key);
  });

  test('nothing is sent where the phase before it is not committed, and the key goes on from the top', async () => {
    const key = freshKey();
    await watch.query(`CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'refused at COMMIT'; END $$`);
    await watch.query(`CREATE CONSTRAINT TRIGGER refused AFTER INSERT ON audit_records DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW WHEN (NEW.action = '${key}:order') EXECUTE FUNCTION refuse()`);
    const { checkout } = shop();
    try {
      expect(await checkout.execute({ key, payload: {} })).toMatchObject({ ok: false, executed: 'unknown' });
      expectCounted([provider.sends, await effects(database.client, `${key}:order`)]).toEqual([0, 0]);
      expect(await rowOf(key)).toMatchObject({ state: 'in_progress' });
    } finally {
      await watch.query('DROP TRIGGER refused ON audit_records');
    }
    expect(await checkout.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true });
    await expectOnce(key);
  });
});

test('the last phase, its step and the answer are committed together', async () => {
  const key = freshKey();
  const before: unknown[] = [];
  const onPoint = async (point: string) => {
    if (point !== 'before-finish') return;
    before.push(await effects(elsewhere, `${key}:finished`), (await rowOf(key))?.state);
  };
  expect(await shop({ onPoint }).checkout.execute({ key, payload: {} })).toMatchObject({ ok: true });
  // Where the pool is not ours, the phase is committed by itself.
  expect([
    [0, 'in_progress'],
    [1, 'in_progress'],
  ]).toContainEqual(before);
  expect(await rowOf(key)).toMatchObject({ state: 'succeeded', recoveryPoint: 'finished' });
  await expectOnce(key);
});

test('a conflict at the last COMMIT undoes the last phase, too: it runs again before the answer is stored', async () => {
  const key = freshKey();
  await watch.query(`CREATE OR REPLACE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'conflict at COMMIT' USING ERRCODE = '40001'; END $$`);
  await watch.query(`CREATE CONSTRAINT TRIGGER conflicting AFTER INSERT ON audit_records DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.action = '${key}:finished') EXECUTE FUNCTION conflict()`);
  const { checkout } = shop();
  try {
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ ok: false, executed: 'unknown' });
    expect(await rowOf(key)).toMatchObject({ state: 'in_progress' });
  } finally {
    await watch.query('DROP TRIGGER conflicting ON audit_records');
  }
  expect(await checkout.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true });
  await expectOnce(key);
});

test('a call that nobody awaits is not sent where its run has ended before it is written down', async () => {
  const key = freshKey();
  let sends = 0;
  let call: Promise<unknown> | undefined;
  const onPoint = async (point: string) => {
    if (point === 'before-started') await new Promise(setImmediate);
  };
  const pay = kit(database.client, { onPoint })
    .operation({ name: 'pay', schema: anything })
    .phases(async ({ atomic, foreign, key }) => {
      await atomic('order_created', async (tx) => void (await effect(tx, `${key}:order`)));
      const send = async () => ++sends;
      call = foreign('charge_created', { arguments: {}, indeterminate: 'retry', send }).catch(() => {});
      throw new Error('boom');
    });
  await pay.execute({ key, payload: {} });
  await call;
  const started = (await stepsOf(key)).filter(({ name }) => name === 'charge_created');
  expectCounted(sends).toBe(started.length);
});

test('C3 at SERIALIZABLE a duplicate that has waited for the first phase is in flight, or replays', async () => {
  const key = freshKey();
  const [started, end] = [gate(), gate()];
  const strict = (client: TestDatabase['client']) =>
    kit(client)
      .operation({ name: 'pay', schema: anything, isolationLevel: 'Serializable' })
      .phases(async ({ atomic }) =>
        atomic('order_created', async (tx) => {
          await effect(tx, `${key}:order`);
          started.open();
          await end.opened;
          return 'done';
        }),
      );
  const first = strict(database.client).execute({ key, payload: {} });
  await started.opened;
  const second = strict(elsewhere).execute({ key, payload: {} });
  await watch.untilWaiting(1);
  end.open();
  expect(await first).toMatchObject({ ok: true, replayed: false, data: 'done' });
  const told = await second;
  expect(told.ok || told.code).toSatisfy((how) => how === true || how === 'in_flight');
  expectCounted(await effects(database.client, `${key}:order`)).toBe(1);
});

test('no renewal is sent while a transaction begins: it would wait for it, and take the key that it settles for lost', async () => {
  const key = freshKey();
  const [leaseMs, intervalMs] = [1500, 500];
  let released: Promise<unknown> | undefined;
  const onPoint = async (point: string) => {
    if (point !== 'after-recorded') return;
    await lockBehindRenewal(key, intervalMs);
    released = (async () => {
      const waiting: number[] = [];
      const other = await watchOf(database.url);
      await other.untilWaiting(1);
      // A renewal would be due by then.
      for (const until = performance.now() + intervalMs; performance.now() < until; )
        waiting.push(await other.waiting());
      await other.close();
      await watch.query('COMMIT');
      return Math.max(...waiting);
    })();
  };
  const { checkout } = shop({ leaseMs, onPoint });
  expect(await checkout.execute({ key, payload: {} })).toMatchObject({ ok: true, replayed: false });
  expect(await released).toBe(1);
});

/** Locks the key's row so soon behind a renewal that no other can have been sent by then, which would wait for the row. */
async function lockBehindRenewal(key: string, intervalMs: number): Promise<void> {
  await until('the row is locked behind a renewal', async () => {
    const lease = (await rowOf(key))?.leaseUntil?.getTime();
    let renewedAfter = performance.now();
    await until('the lease is renewed', async () => {
      const askedAt = performance.now();
      const isRenewed = (await rowOf(key))?.leaseUntil?.getTime() !== lease;
      if (!isRenewed) renewedAfter = askedAt;
      return isRenewed;
    });
    await watch.query('BEGIN');
    await watch.query('SELECT FROM idempotency_keys WHERE key = $1 FOR UPDATE', [key]);
    const isInTime = performance.now() < renewedAfter + intervalMs;
    if (!isInTime) await watch.query('COMMIT');
    return isInTime;
  });
}
