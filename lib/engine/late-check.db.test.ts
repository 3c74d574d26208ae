import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { ANN, anything, effect, effects, freshKey, gate, kit } from '../integration/kit.fixture.ts';
import { skipTime } from '../integration/skip-time.fixture.ts';

/** Code of the app's that hangs: before the claim, where nothing was executed, and behind the commit, where all was. */

const DEADLINE_MS = 20_000;
/** Comes where it hangs long before its time is up, and then soon. */
const never = () => {
  skipTime(DEADLINE_MS - 300);
  return new Promise<never>(() => {});
};

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
  // A client's first question takes longer.
  await kit(database.client)
    .operation({ name: 'first', schema: anything })
    .handler(async () => 1)
    .execute({ key: freshKey(), payload: {}, attempt: 2 });
});
afterAll(() => database?.drop());

const hanging = {
  '~standard': { version: 1, vendor: 'test', validate: never, types: undefined },
} as unknown as typeof anything;

function shop() {
  const onError = vi.fn();
  const idempotency = kit(database.client, { onError });
  const stranger = kit(database.client, { onError, scope: never });
  const define = (on: typeof idempotency, options: object) =>
    on.operation({ name: 'order', schema: anything, ...options }).handler(async ({ tx, key }) => await effect(tx, key));
  return {
    onError,
    orders: {
      scope: define(stranger, {}),
      schema: define(idempotency, { schema: hanging }),
      admit: define(kit(database.client, { onError }), { admit: never }),
      read: define(kit(database.client, { onError }), {}),
    },
  };
}

describe('a check that hangs before the claim', () => {
  test.each(['scope', 'schema', 'admit', 'read'] as const)(
    '%s: the deadline holds, and nothing was executed',
    async (what) => {
      const { orders, onError } = shop();
      const key = freshKey();
      const call = {
        key,
        payload: {},
        attempt: 1,
        deadlineMs: DEADLINE_MS,
        ...(what === 'read' ? { read: never } : {}),
      };
      expect(await orders[what].execute(call)).toMatchObject({
        code: 'unavailable',
        retry: 'same-key',
        retryAfterMs: 1000,
        executed: false,
      });
      expect(onError.mock.calls).toMatchObject([[{ code: 'unavailable' }, { key, operation: 'order' }]]);
      expect(onError.mock.calls[0]?.[1].during).toMatch(/^(checks|claim)$/);
      expect(await orders[what].execute({ ...call, attempt: 2 })).toMatchObject({ executed: 'unknown' });
      expectCounted(await effects(database.client, key)).toBe(0);
    },
  );

  test.each(['status', 'fence'] as const)('scope, of %s', async (ask) => {
    const { orders } = shop();
    const said = await orders.scope[ask]({ key: freshKey(), deadlineMs: DEADLINE_MS });
    expect(said).toMatchObject({ ok: false, code: 'unavailable' });
  });

  test('admit: a joiner with more time leads, and is admitted', async () => {
    const began = gate();
    const admit = vi
      .fn(async () => true as const)
      .mockImplementationOnce(() => {
        began.open();
        return never();
      });
    const order = kit(database.client)
      .operation({ name: 'order', schema: anything, admit })
      .handler(async ({ tx, key }) => await effect(tx, key));
    const key = freshKey();
    const hasty = order.execute({ key, scope: ANN, payload: {}, deadlineMs: DEADLINE_MS });
    await began.opened;
    expect(await order.execute({ key, scope: ANN, payload: {} })).toMatchObject({ ok: true });
    expect(await hasty).toMatchObject({ code: 'unavailable' });
    expectCounted(await effects(database.client, key)).toBe(1);
  });
});

test('an afterCommit that hangs: the caller is answered in time, the others are begun, and it is reported', async () => {
  const onError = vi.fn();
  const begun: string[] = [];
  const order = kit(database.client, { onError })
    .operation({ name: 'order', schema: anything })
    .handler(async ({ tx, key, afterCommit }) => {
      afterCommit(never);
      afterCommit(() => void begun.push(key));
      await effect(tx, key);
    });
  const key = freshKey();
  expect(await order.execute({ key, payload: {}, deadlineMs: DEADLINE_MS })).toMatchObject({ ok: true });
  expect(begun).toEqual([key]);
  expect(onError.mock.calls).toMatchObject([[{ code: 'unavailable' }, { key, during: 'afterCommit' }]]);
});
