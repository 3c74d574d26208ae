import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { createClient } from '../../shop/db.ts';
import { ANN, effect, effects, freshKey, gate, kit, stopping, type Tx, watchOf } from '../integration/kit.fixture.ts';
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

const RIGHT = { sku: 'tea' } as const;
const WRONG = { sku: 'mug' } as const;
const FINAL = { code: 'payload_mismatch', retry: 'never' };

/** Opens where a call with these values has been validated: what it does next, without a turn, is to lead or to follow. */
function watchedSchema() {
  const seen = { tea: gate(), mug: gate() };
  const schema = z.object({ sku: z.enum(['tea', 'mug']) }).transform((input) => {
    seen[input.sku].open();
    return input;
  });
  const follows = async (sku: keyof typeof seen) => {
    await seen[sku].opened;
    await turn();
  };
  return { schema, follows };
}

type Kit = ReturnType<typeof kit>;
const KINDS = {
  'one transaction': (on: Kit, schema: ReturnType<typeof watchedSchema>['schema']) =>
    on.operation({ name: 'checkout', schema }).handler(async ({ tx, key }) => {
      await effect(tx, key);
      return 'done';
    }),
  phases: (on: Kit, schema: ReturnType<typeof watchedSchema>['schema']) =>
    on.operation({ name: 'pay', schema }).phases(async ({ atomic, key }) => {
      await atomic('paid', (tx) => effect(tx, key));
      return 'done';
    }),
};

describe.each(Object.entries(KINDS))('A2 O4 behind a starter that is wrong: %s', (_, define) => {
  test('the right payload is replayed, and only the wrong one is refused for good', async () => {
    const key = freshKey();
    await define(kit(database.client), watchedSchema().schema).execute({ key, payload: RIGHT });

    const [claims, mayClaim] = [gate(), gate()];
    const onPoint = async (point: string) => {
      if (point !== 'before-claim') return;
      claims.open();
      await mayClaim.opened;
    };
    const { schema, follows } = watchedSchema();
    const operation = define(kit(database.client, { onPoint }), schema);
    const wrong = operation.execute({ key, payload: WRONG });
    await claims.opened;
    const right = operation.execute({ key, payload: RIGHT });
    await follows('tea');
    mayClaim.open();
    expect(await right).toMatchObject({ ok: true, replayed: true, data: 'done' });
    expect(await wrong).toMatchObject({ ...FINAL, executed: true });
    expectCounted(await effects(database.client, key)).toBe(1);
  });
});

/** An operation whose first execution stops in its transaction, and what it asks of its store. */
function slow() {
  const held = stopping();
  const { schema, follows } = watchedSchema();
  const operation = kit(database.client)
    .operation({ name: 'checkout', schema, timeoutMs: 20_000 })
    .handler(held.handle as never);
  return { ...held, operation, follows };
}

describe('O4 another payload behind a running starter', () => {
  test('waits without a connection, and is refused by the row', async () => {
    const { operation, started, end, follows, runs } = slow();
    const key = freshKey();
    const running = operation.execute({ key, payload: RIGHT });
    await started.opened;
    const other = operation.execute({ key, payload: WRONG });
    await follows('mug');
    expect(await watch.inTransaction()).toBe(1);
    end.open('commit');
    expect(await other).toMatchObject({ ...FINAL, executed: true });
    expect(await running).toMatchObject({ ok: true });
    expectCounted([runs(), await effects(database.client, key)]).toEqual([1, 1]);
  });

  test('is in flight once its wait is over: it may be sent again', async () => {
    const { operation, started, end } = slow();
    const key = freshKey();
    const running = operation.execute({ key, payload: RIGHT });
    await started.opened;
    for (const limits of [{ waitMs: 0 }, { waitMs: 30 }, { deadlineMs: 30 }]) {
      const told = await operation.execute({ key, payload: WRONG, ...limits });
      expect(told).toMatchObject({ code: 'in_flight', retry: 'same-key', executed: 'unknown' });
    }
    end.open('commit');
    await running;
    expect(await operation.execute({ key, payload: WRONG })).toMatchObject({ ...FINAL, executed: true });
  });

  test('executes where the starter has rolled back: nothing was stored that it could differ from', async () => {
    const { operation, started, end, follows, runs } = slow();
    const key = freshKey();
    const running = operation.execute({ key, payload: WRONG });
    await started.opened;
    const other = operation.execute({ key, payload: RIGHT });
    await follows('tea');
    end.open('roll back');
    expect(await running).toMatchObject({ code: 'internal', executed: false });
    expect(await other).toMatchObject({ ok: true, replayed: false, data: { run: 2 } });
    expectCounted([runs(), await effects(database.client, key)]).toEqual([2, 1]);
  });

  test.each([
    ['commit', FINAL],
    ['roll back', { code: 'validation', executed: 'unknown' }],
  ] as const)('that no schema takes waits like any other; the starter: %s', async (how, told) => {
    const { operation, started, end } = slow();
    const key = freshKey();
    const running = operation.execute({ key, payload: RIGHT });
    await started.opened;
    const invalid = operation.execute({ key, payload: { sku: 'none' } as never });
    await turn();
    expect(await watch.inTransaction()).toBe(1);
    end.open(how);
    expect(await invalid).toMatchObject(told);
    await running;
  });

  test('C5 of fifty none takes a connection while it waits, and their mismatch is written down once', async () => {
    const client = createClient(database.url, { max: 1 });
    const store = prismaStore(client);
    const recordEvent = vi.fn(store.recordEvent);
    const probe = vi.fn(store.probe);
    const held = stopping();
    const { schema, follows } = watchedSchema();
    const operation = idempotencyOn<Tx>({ ...store, recordEvent, probe } as never, { scope: () => ANN, waitMs: 10_000 })
      .operation({ name: 'checkout', schema, timeoutMs: 20_000 })
      .handler(held.handle as never);
    const key = freshKey();
    const running = operation.execute({ key, payload: RIGHT });
    await held.started.opened;
    const others = Array.from({ length: 50 }, (_, n) =>
      operation.execute({ key, payload: n % 5 ? WRONG : ({ sku: 'none' } as never) }),
    );
    await follows('mug');
    held.end.open('commit');
    for (const told of await Promise.all(others)) expect(told).toMatchObject({ ...FINAL, executed: true });
    expect(await running).toMatchObject({ ok: true });
    expect([recordEvent.mock.calls.length, probe.mock.calls.length]).toEqual([1, 0]);
    await client.$disconnect();
  });
});

test('S1 of a first submission that was refused nobody is told that it counts', async () => {
  const order = kit(database.client)
    .operation({ name: 'checkout', schema: watchedSchema().schema })
    .handler(async ({ fail }) => fail('declined'));
  const key = freshKey();
  await order.execute({ key, payload: RIGHT });
  const told = await order.execute({ key, payload: WRONG });
  expect(told).toMatchObject({ ...FINAL, executed: false });
  expect(told).toHaveProperty('message', 'This form was already sent with other values, so these were not used.');
  expectCounted(await effects(database.client, key)).toBe(0);
});

test('O4 in phases the row is there before they have ended, so another payload is refused at once', async () => {
  const [started, end] = [gate(), gate()];
  const { schema } = watchedSchema();
  const pay = kit(database.client)
    .operation({ name: 'pay', schema })
    .phases(async ({ atomic, key }) => {
      await atomic('paid', (tx) => effect(tx, key));
      started.open();
      await end.opened;
      return 'done';
    });
  const key = freshKey();
  const running = pay.execute({ key, payload: RIGHT });
  await started.opened;
  expect(await pay.execute({ key, payload: WRONG, waitMs: 20_000 })).toMatchObject({ ...FINAL, executed: 'unknown' });
  end.open();
  expect(await running).toMatchObject({ ok: true, data: 'done' });
});
