import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { bound } from '../../scripts/testing/patience.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { createClient } from '../../shop/db.ts';
import { effect, effects, freshKey, gate, kit, stopping, watchOf } from '../integration/kit.fixture.ts';

let database: TestDatabase;
const closers: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  database = await testDatabase();
});
afterEach(() => Promise.all(closers.splice(0).map((close) => close())));
afterAll(() => database?.drop());

/** Another call has sent the key before, so a caller who says otherwise is mistaken, as after a browser's own re-send. */
const NOT_FIRST = { executed: 'unknown', retry: 'same-key' };
const FIRST = { payload: { sku: 'tea' }, attempt: 1 } as const;

/** Opens with the second call that was validated: what it does next, without a turn, is to follow. */
function watchedSchema() {
  const second = gate();
  let seen = 0;
  const schema = z.object({ sku: z.enum(['tea', 'mug']) }).transform((input) => {
    if (++seen === 2) second.open();
    return input;
  });
  const followed = async () => {
    await second.opened;
    await turn();
  };
  return { schema, followed };
}

/** A call leads and has come to `reached` when another one follows it; then it goes on. What both are told. */
async function startAndJoin<T>(
  execute: (request: { key: string } & typeof FIRST) => Promise<T>,
  {
    reached,
    followed,
    goOn,
  }: { reached: { opened: Promise<unknown> }; followed: () => Promise<void>; goOn: () => void },
) {
  const key = freshKey();
  const starting = execute({ key, ...FIRST });
  await reached.opened;
  const following = execute({ key, ...FIRST });
  await followed();
  goOn();
  return { key, joiner: await following, starter: await starting };
}

/** Admits one call, and nobody after it: a joiner that takes over is stopped before it could prove anything. */
function admitOnce() {
  let asked = 0;
  return () => ++asked === 1 || 60_000;
}

// Of a starter in doubt: `lost-commit.db.test.ts`.
describe('said to be the first attempt, behind a starter in the same process: not known, where the starter', () => {
  test('was not admitted', async () => {
    const [asked, answer] = [gate(), gate()];
    const { schema, followed } = watchedSchema();
    const { execute } = kit(database.client)
      .operation({
        name: 'checkout',
        schema,
        admit: async () => {
          asked.open();
          await answer.opened;
          return 60_000;
        },
      })
      .handler(async () => 'done');
    const { starter, joiner } = await startAndJoin(execute, { reached: asked, followed, goOn: () => answer.open() });
    expect(joiner).toMatchObject({ code: 'rate_limited', ...NOT_FIRST });
    // Of the starter nothing disproves it.
    expect(starter).toMatchObject({ code: 'rate_limited', executed: false });
  });

  test('could not reach the database', async () => {
    const [claims, mayClaim] = [gate(), gate()];
    const onPoint = async (point: string) => {
      if (point !== 'before-claim') return;
      claims.open();
      await mayClaim.opened;
    };
    const { schema, followed } = watchedSchema();
    const away = createClient('postgresql://nobody@127.0.0.1:1/none');
    closers.push(() => away.$disconnect());
    const { execute } = kit(away, { onPoint })
      .operation({ name: 'checkout', schema })
      .handler(async () => 'done');
    const { starter, joiner } = await startAndJoin(execute, {
      reached: claims,
      followed,
      goOn: () => mayClaim.open(),
    });
    expect(joiner).toMatchObject({ code: 'unavailable', ...NOT_FIRST });
    expect(starter).toMatchObject({ code: 'unavailable', executed: false });
  });

  test('threw before it claimed', async () => {
    const [asked, answer] = [gate(), gate()];
    const { schema, followed } = watchedSchema();
    const { execute } = kit(database.client)
      .operation({
        name: 'checkout',
        schema,
        admit: async () => {
          asked.open();
          await answer.opened;
          throw new Error('the counter is away');
        },
      })
      .handler(async () => 'done');
    const { starter, joiner } = await startAndJoin(execute, { reached: asked, followed, goOn: () => answer.open() });
    expect(joiner).toMatchObject({ code: 'internal', ...NOT_FIRST });
    expect(starter).toMatchObject({ code: 'internal', executed: false });
  });

  test('rolled back, and the joiner that goes on by itself is not admitted', async () => {
    const held = stopping();
    const { schema, followed } = watchedSchema();
    const { execute } = kit(database.client)
      .operation({ name: 'checkout', schema, timeoutMs: 20_000, admit: admitOnce() })
      .handler(held.handle);
    const { key, starter, joiner } = await startAndJoin(execute, {
      reached: held.started,
      followed,
      goOn: () => held.end.open('roll back'),
    });
    expect(joiner).toMatchObject({ code: 'rate_limited', ...NOT_FIRST });
    expect(starter).toMatchObject({ code: 'internal', executed: false });
    expectCounted(await effects(database.client, key)).toBe(0);
  });

  test('rolled back, and what the joiner has sent is not valid', async () => {
    const held = stopping();
    const { schema } = watchedSchema();
    const { execute } = kit(database.client)
      .operation({ name: 'checkout', schema, timeoutMs: 20_000 })
      .handler(held.handle);
    const key = freshKey();
    const starter = execute({ key, ...FIRST });
    await held.started.opened;
    const joiner = execute({ key, payload: { sku: 'none' } as never, attempt: 1 });
    await turn();
    held.end.open('roll back');
    expect(await joiner).toMatchObject({ code: 'validation', ...NOT_FIRST });
    await starter;
  });

  test('was suspended', async () => {
    const [started, end] = [gate(), gate()];
    const { schema, followed } = watchedSchema();
    const { execute } = kit(database.client)
      .operation({ name: 'pay', schema })
      .phases(async ({ atomic, key }) => {
        await atomic('paid', (tx) => effect(tx, key));
        started.open();
        await end.opened;
        throw new Error('it goes on later');
      });
    const { key, starter, joiner } = await startAndJoin(execute, {
      reached: started,
      followed,
      goOn: () => end.open(),
    });
    for (const told of [starter, joiner]) expect(told).toMatchObject({ code: 'internal', ...NOT_FIRST });
    expectCounted(await effects(database.client, key)).toBe(1);
  });

  test.each([
    ['is no more patient', 100, 'in_flight'],
    ['is, and is not admitted when it waits by itself', 20_000, 'rate_limited'],
  ])('was locked out by another process, and the joiner %s', async (_, waitMs, code) => {
    const elsewhere = stopping();
    const running = kit(database.client)
      .operation({ name: 'checkout', schema: watchedSchema().schema, timeoutMs: 20_000 })
      .handler(elsewhere.handle);
    const key = freshKey();
    const first = running.execute({ key, ...FIRST });
    await elsewhere.started.opened;

    const { schema, followed } = watchedSchema();
    const watch = await watchOf(database.url);
    closers.push(watch.close);
    const { execute } = kit(database.client)
      .operation({ name: 'checkout', schema, timeoutMs: 20_000, admit: admitOnce() })
      .handler(async () => 'done');
    const starter = execute({ key, ...FIRST, waitMs: bound(1000) });
    await watch.untilWaiting(1);
    const joiner = execute({ key, ...FIRST, waitMs: Math.max(waitMs, bound(1000)) });
    await followed();
    expect(await starter).toMatchObject({ code: 'in_flight', ...NOT_FIRST });
    expect(await joiner).toMatchObject({ code, ...NOT_FIRST });
    elsewhere.end.open('commit');
    await first;
  });

  test('outlasts the joiner', async () => {
    const held = stopping();
    const { execute } = kit(database.client)
      .operation({ name: 'checkout', schema: watchedSchema().schema, timeoutMs: 20_000 })
      .handler(held.handle);
    const key = freshKey();
    const starter = execute({ key, ...FIRST });
    await held.started.opened;
    for (const limits of [{ waitMs: 0 }, { waitMs: 30 }, { deadlineMs: 30 }]) {
      expect(await execute({ key, ...FIRST, ...limits })).toMatchObject({ code: 'in_flight', ...NOT_FIRST });
    }
    held.end.open('commit');
    await starter;
  });
});

describe('said to be the first attempt, of a call that leads', () => {
  test.each([
    ['before-claim', false],
    ['after-claim', 'unknown'],
  ] as const)(
    'phases that throw at %s: executed is %j, for what is claimed goes on without it',
    async (at, executed) => {
      const onPoint = (point: string) => {
        if (point === at) throw new Error('no luck');
      };
      const { execute } = kit(database.client, { onPoint })
        .operation({ name: 'pay', schema: watchedSchema().schema })
        .phases(async () => 'done');
      const told = await execute({ key: freshKey(), ...FIRST });
      expect(told).toMatchObject({ code: 'internal', executed, retry: 'same-key' });
    },
  );
});
