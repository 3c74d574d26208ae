import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { createClient } from '../../shop/db.ts';
import {
  ANN,
  anything,
  effects,
  freshKey,
  gate,
  kit,
  stopping,
  watchOf,
  withoutKeys,
} from '../integration/kit.fixture.ts';
import { prismaStore } from '../store/prisma/store.ts';
import { idempotencyOn } from './idempotency.ts';

let database: TestDatabase;
let watch: Awaited<ReturnType<typeof watchOf>>;
beforeAll(async () => {
  database = await testDatabase({ max: 2 });
  watch = await watchOf(database.url);
});
afterAll(async () => {
  await watch?.close();
  await database?.drop();
});

/** One process with a pool of two connections, in which the first execution stops until it is told how to end. */
function slow(options: Parameters<typeof kit>[1] = {}) {
  const held = stopping();
  const engine = kit(database.client, options);
  const operation = engine
    .operation({ name: 'checkout', schema: anything, timeoutMs: 20_000 })
    .handler(held.handle as never);
  const other = engine.operation({ name: 'other', schema: anything }).handler(async () => 'other');
  return { ...held, operation, other };
}

describe('C2 duplicates inside one process', () => {
  test('C2 of 50 calls one executes and 49 replay the same answer; they hold no connection meanwhile', async () => {
    const { operation, other, started, end, runs } = slow();
    const key = freshKey();
    const calls = Array.from({ length: 50 }, (_, i) => operation.execute({ key, payload: {}, attempt: 1 + (i % 3) }));
    await started.opened;
    expect(await watch.inTransaction()).toBe(1);
    for (let i = 0; i < 5; i++) {
      const within = { key: freshKey(), payload: {}, waitMs: 0 };
      expect(await other.execute(within)).toMatchObject({ ok: true, data: 'other' });
    }
    end.open('commit');
    const outcomes = await Promise.all(calls);
    expect(outcomes.filter((outcome) => outcome.ok && !outcome.replayed)).toHaveLength(1);
    for (const outcome of outcomes)
      expect(withoutKeys(outcome)).toEqual({
        ok: true,
        data: { run: 1 },
        replayed: (outcome as { replayed: boolean }).replayed,
      });
    expectCounted([runs(), await effects(database.client, key)]).toEqual([1, 1]);
  });

  test('C2 when the starter rolls back, exactly one of the others becomes the starter', async () => {
    const { operation, started, end, runs } = slow();
    const key = freshKey();
    const calls = Array.from({ length: 10 }, () => operation.execute({ key, payload: {} }));
    await started.opened;
    end.open('roll back');
    const [first, ...others] = await Promise.all(calls);
    expect(first).toMatchObject({ code: 'internal', executed: false });
    expect(others.filter((outcome) => outcome.ok && !outcome.replayed)).toHaveLength(1);
    for (const outcome of others) expect(outcome).toMatchObject({ ok: true, data: { run: 2 } });
    expectCounted([runs(), await effects(database.client, key)]).toEqual([2, 1]);
  });

  test('C2 a joiner’s answer is built from the stored bytes: nobody shares an object with the starter', async () => {
    const { operation, started, end } = slow();
    const key = freshKey();
    const calls = [0, 1, 2].map(() => operation.execute({ key, payload: {} }));
    await started.opened;
    end.open('commit');
    const data = (await Promise.all(calls)).map((outcome) => (outcome as { data: object }).data);
    expect(new Set(data).size).toBe(3);
  });

  test('C2 each joiner keeps its own wait; 0 is never', async () => {
    // Longer than the starter has: who waited so long would be told of its end.
    const { operation, started, end } = slow({ waitMs: 60_000 });
    const key = freshKey();
    const running = operation.execute({ key, payload: {} });
    await started.opened;
    const patient = operation.execute({ key, payload: {} });
    for (const limits of [{ waitMs: 0 }, { waitMs: 30 }, { deadlineMs: 30 }]) {
      expect(await operation.execute({ key, payload: {}, ...limits })).toMatchObject({
        code: 'in_flight',
        executed: 'unknown',
        retry: 'same-key',
        retryAfterMs: expect.any(Number),
      });
    }
    expect(await operation.status({ key })).toMatchObject({ state: 'in_progress', retryAfterMs: expect.any(Number) });
    end.open('commit');
    expect([await running, await patient]).toMatchObject([{ replayed: false }, { replayed: true }]);
  });

  test('C2 a call after the starter finds no trace of it but the row', async () => {
    const { operation, started, end, runs } = slow();
    const key = freshKey();
    const running = operation.execute({ key, payload: {} });
    await started.opened;
    end.open('roll back');
    await running;
    expect(await operation.execute({ key, payload: {} })).toMatchObject({
      ok: true,
      replayed: false,
      data: { run: 2 },
    });
    expect(runs()).toBe(2);
  });

  test('C2 an admission that throws ends the starter for all, and the key stays usable', async () => {
    const asked = gate();
    let times = 0;
    const admit = async () => {
      if (++times > 1) return true as const;
      await asked.opened;
      throw new Error('limiter is down');
    };
    const operation = kit(database.client)
      .operation({ name: 'checkout', schema: anything, admit })
      .handler(async () => 1);
    const key = freshKey();
    const calls = [0, 1].map(() => operation.execute({ key, payload: {} }));
    asked.open();
    for (const outcome of await Promise.all(calls)) expect(outcome).toMatchObject({ ok: false, code: 'internal' });
    expect(await operation.execute({ key, payload: {} })).toMatchObject({ ok: true, data: 1 });
  });
});

describe('C5 duplicates of keys that another process holds', () => {
  test('C5 where no slot is free, twenty ask the database as often as one, and are told in_flight at once', async () => {
    const [waited, crowded] = [freshKey(), freshKey()];
    const held = [waited, crowded].map((key) => ({ key, ...stopping() }));
    const holding = held.map(({ key, handle }) =>
      kit(database.client)
        .operation({ name: 'checkout', schema: anything })
        .handler(handle)
        .execute({ key, payload: {} }),
    );
    await Promise.all(held.map(({ started }) => started.opened));

    const second = createClient(database.url);
    const store = prismaStore(second);
    const execute = vi.fn(store.execute);
    const asked = (key: string) => execute.mock.calls.filter(([claim]) => claim.key === key).length;
    const here = idempotencyOn({ ...store, execute }, { scope: () => ANN, waitMs: 10_000, poolSize: 5 })
      .operation({ name: 'checkout', schema: anything })
      .handler(async () => 'never');
    const patient = here.execute({ key: waited, payload: {} });
    await watch.untilWaiting(1);

    const calls = Array.from({ length: 20 }, () => here.execute({ key: crowded, payload: {} }));
    const codes = (await Promise.all(calls)).map((outcome) => !outcome.ok && outcome.code);
    expect(codes).toEqual(Array(20).fill('in_flight'));
    expect(asked(crowded)).toBe(1);
    for (const { end } of held) end.open('commit');
    expect(await Promise.all([...holding, patient])).toMatchObject([{ ok: true }, { ok: true }, { replayed: true }]);
    await second.$disconnect();
  });
});
