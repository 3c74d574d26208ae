import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { createClient } from '../../shop/db.ts';
import { anything, effect, effects, freshKey, kit, rowsOf, stopping, watchOf } from '../integration/kit.fixture.ts';

let database: TestDatabase;
let second: TestDatabase['client'];
let watch: Awaited<ReturnType<typeof watchOf>>;
beforeAll(async () => {
  database = await testDatabase();
  second = createClient(database.url);
  watch = await watchOf(database.url);
});
afterAll(async () => {
  await watch?.close();
  await second?.$disconnect();
  await database?.drop();
});

const define = (client: TestDatabase['client'], handle: never, options = {}) =>
  kit(client, options).operation({ name: 'checkout', schema: anything, timeoutMs: 20_000 }).handler(handle);

/** An execution that is not committed yet, and the same operation in this process and in another. */
async function uncommitted() {
  const held = stopping();
  const key = freshKey();
  const here = define(database.client, held.handle as never);
  const there = define(second, held.handle as never);
  const running = here.execute({ key, payload: {} });
  await held.started.opened;
  return { ...held, key, here, there, running };
}

describe('S5 fence', () => {
  test('S5 of an absent key: it never executes, in any process, and again says the same', async () => {
    const key = freshKey();
    const [here, there] = [
      define(database.client, (async () => effect) as never),
      define(second, (async () => 1) as never),
    ];
    expect(await here.fence({ key })).toEqual({ fenced: true, nextKey: expect.any(String) });
    expect(await there.fence({ key })).toMatchObject({ fenced: true });
    for (const operation of [here, there]) {
      expect(await operation.execute({ key, payload: {} })).toMatchObject({
        code: 'key_abandoned',
        executed: false,
        retry: 'new-key',
      });
      expect(await operation.status({ key })).toMatchObject({
        operation: 'checkout',
        key,
        state: 'abandoned',
        nextKey: expect.any(String),
      });
    }
    expectCounted(await rowsOf(second, key)).toMatchObject([{ state: 'abandoned' }]);
  });

  test('S5 of a committed key: it loses, and tells the answer', async () => {
    const key = freshKey();
    const operation = define(database.client, (async () => 'placed') as never);
    await operation.execute({ key, payload: {} });
    expect(await operation.fence({ key })).toMatchObject({
      fenced: false,
      state: 'succeeded',
      outcome: { ok: true, replayed: true, data: 'placed' },
    });
    expectCounted(await rowsOf(second, key)).toMatchObject([{ state: 'succeeded' }]);
  });

  test.each(['here', 'there'] as const)(
    'S5 of an uncommitted key, asked %s: it waits and loses when that commits',
    async (where) => {
      const { [where]: operation, key, end, running } = await uncommitted();
      const fencing = operation.fence({ key });
      await watch.untilWaiting(1);
      end.open('commit');
      expect(await fencing).toMatchObject({ fenced: false, state: 'succeeded', outcome: { data: { run: 1 } } });
      expect(await running).toMatchObject({ ok: true });
    },
  );

  test('S5 of an uncommitted key: it wins when that rolls back, and the key never executes', async () => {
    const { there, here, key, end, running, runs } = await uncommitted();
    const fencing = there.fence({ key });
    await watch.untilWaiting(1);
    end.open('roll back');
    expect(await fencing).toMatchObject({ fenced: true });
    await running;
    expect(await here.execute({ key, payload: {} })).toMatchObject({ code: 'key_abandoned', executed: false });
    expectCounted([runs(), await effects(second, key)]).toEqual([1, 0]);
  });

  test('S5 while the claim outlasts waitMs: not fenced, in_progress', async () => {
    const { key, end, running } = await uncommitted();
    const hasty = define(second, (async () => 1) as never, { waitMs: 20 });
    expect(await hasty.fence({ key })).toMatchObject({
      fenced: false,
      state: 'in_progress',
      retryAfterMs: expect.any(Number),
    });
    end.open('commit');
    expect(await running).toMatchObject({ ok: true });
  });

  test('S5 fence and execute at once: exactly one of them gets the key', async () => {
    for (let i = 0; i < 20; i++) {
      const key = freshKey();
      const here = define(database.client, (async ({ tx }: never) => effect(tx, key)) as never);
      const there = define(second, (async () => 1) as never);
      const calls = [() => here.execute({ key, payload: {} }), () => there.fence({ key })] as const;
      const [one, two] = await Promise.all((i % 2 ? [...calls].reverse() : calls).map((call) => call()));
      const [outcome, fenced] = (i % 2 ? [two, one] : [one, two]) as [{ ok: boolean }, { fenced: boolean }];
      expect(fenced.fenced).toBe(!outcome.ok);
      expectCounted(await effects(second, key)).toBe(outcome.ok ? 1 : 0);
    }
  });
});

describe('S5 status', () => {
  test('S5 absent, uncommitted (asked in its own process or another) and settled are told apart', async () => {
    const { here, there, key, end, running } = await uncommitted();
    for (const operation of [here, there]) {
      expect(await operation.status({ key: freshKey() })).toMatchObject({
        state: 'absent',
        nextKey: expect.any(String),
      });
      expect(await operation.status({ key })).toEqual({
        operation: 'checkout',
        key,
        state: 'in_progress',
        retryAfterMs: 1000,
        nextKey: expect.any(String),
      });
    }
    end.open('commit');
    await running;
    for (const operation of [here, there]) {
      expect(await operation.status({ key })).toMatchObject({
        state: 'succeeded',
        outcome: { ok: true, replayed: true, data: { run: 1 } },
      });
    }
  });

  test('S5 of a key that runs in its own process it is told without a connection, of which there may be none', async () => {
    const one = createClient(database.url, { max: 1 });
    const held = stopping();
    const operation = define(one, held.handle as never);
    const key = freshKey();
    const running = operation.execute({ key, payload: {} });
    await held.started.opened;
    expect(await operation.status({ key })).toMatchObject({ state: 'in_progress', retryAfterMs: expect.any(Number) });
    held.end.open('commit');
    expect(await running).toMatchObject({ ok: true });
    await one.$disconnect();
  });

  test('S5 a stored refusal is told with its reason', async () => {
    const key = freshKey();
    const operation = kit(second)
      .operation({ name: 'checkout', schema: anything })
      .handler(async ({ fail }) => fail('sold_out', { left: 0 }));
    await operation.execute({ key, payload: {} });
    expect(await operation.status({ key })).toMatchObject({
      state: 'failed',
      outcome: { ok: false, code: 'failed', reason: 'sold_out', executed: false },
    });
  });

  test('S5 it changes nothing: no row, no event', async () => {
    const key = freshKey();
    await define(second, (async () => 1) as never).status({ key });
    expectCounted([await rowsOf(second, key), await second.idempotencyEvent.count({ where: { key } })]).toEqual([
      [],
      0,
    ]);
  });

  test.each([
    [{ key: '' }, 'key_missing'],
    [{ key: 'a,b' }, 'key_malformed'],
  ])('K1 of %j: %s', async (request, code) => {
    const operation = define(second, (async () => 1) as never);
    expect(await operation.status(request)).toMatchObject({ ok: false, code });
    expect(await operation.fence(request)).toMatchObject({ ok: false, code });
  });
});
