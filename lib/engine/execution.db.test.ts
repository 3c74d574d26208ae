import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { ANN, anything, effect, effects, freshKey, kit, rowsOf, withoutKeys } from '../integration/kit.fixture.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());

const define = (options: Parameters<typeof kit>[1] = {}, more: object = {}) =>
  kit(database.client, options).operation({ name: 'checkout', schema: anything, ...more });

describe('S1, S2 one transaction', () => {
  test('S1 key, effect and answer are committed together; a retry replays and runs nothing', async () => {
    const key = freshKey();
    let runs = 0;
    const op = define().handler(async ({ tx }) => {
      await effect(tx, key);
      return { run: ++runs };
    });
    const first = await op.execute({ key, payload: {} });
    expect(first).toMatchObject({ ok: true, replayed: false, data: { run: 1 }, key, nextKey: expect.any(String) });
    expectCounted(await rowsOf(database.client, key)).toMatchObject([{ state: 'succeeded', fencingToken: 1 }]);
    for (const attempt of [undefined, 2]) {
      const again = await op.execute({ key, payload: {}, attempt });
      expect(again).toMatchObject({ ok: true, replayed: true, data: { run: 1 }, key });
    }
    expectCounted([runs, await effects(database.client, key)]).toEqual([1, 1]);
  });

  test('S2 a thrown error rolls back, is told once, and the key stays usable', async () => {
    const key = freshKey();
    const onError = vi.fn();
    const error = new Error('boom');
    let runs = 0;
    const op = define({ onError }).handler(async ({ tx }) => {
      await effect(tx, key);
      if (++runs === 1) throw error;
      return runs;
    });
    const first = await op.run({ key, payload: {} });
    expect(first).toMatchObject({
      outcome: { ok: false, code: 'internal', executed: false, retry: 'same-key' },
      thrown: error,
    });
    expect(JSON.stringify(first.outcome)).not.toContain('boom');
    expect(onError).toHaveBeenCalledExactlyOnceWith(
      error,
      expect.objectContaining({ operation: 'checkout', key, instance: expect.stringMatching(/^urn:uuid:/) }),
    );
    expectCounted([await effects(database.client, key), await rowsOf(database.client, key)]).toEqual([0, []]);
    expect(await op.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true, replayed: false, data: 2 });
  });

  test('S2 a handler that writes by the global client and throws: tried eight times, as a form does, it leaves nothing', async () => {
    const key = freshKey();
    let runs = 0;
    const op = define().handler(async () => {
      runs++;
      await effect(database.client, key);
      throw new Error('boom');
    });
    for (let attempt = 1; attempt <= 8; attempt++) {
      const outcome = await op.execute({ key, payload: {}, attempt });
      expect(outcome).toMatchObject({ code: 'internal', executed: false, retry: 'same-key' });
    }
    expectCounted([runs, await effects(database.client, key), await rowsOf(database.client, key)]).toEqual([8, 0, []]);
  });

  test('S2 a statement error that the handler swallowed is no success', async () => {
    const key = freshKey();
    const op = define().handler(async ({ tx }) => {
      await effect(tx, key);
      await tx.$queryRawUnsafe('SELECT 1/0').catch(() => {});
      return 'fine';
    });
    expect(await op.execute({ key, payload: {} })).toMatchObject({ ok: false, code: 'internal', executed: false });
    expectCounted(await effects(database.client, key)).toBe(0);
  });

  test.each([0, 1, 2, 3, 4, 5])(
    'S2 where a statement that nobody awaits fails after %d others, the outcome still tells the truth',
    async (others) => {
      const key = freshKey();
      const op = define().handler(async ({ tx }) => {
        await effect(tx, key);
        const late = async () => {
          for (let i = 0; i < others; i++) await tx.$queryRawUnsafe('SELECT 1');
          await tx.$queryRawUnsafe('SELECT 1/0');
        };
        void late().catch(() => {});
        return 'fine';
      });
      const { ok } = await op.execute({ key, payload: {} });
      expectCounted({ ok, effects: await effects(database.client, key) }).toEqual({ ok, effects: ok ? 1 : 0 });
    },
  );

  test('R4 an answer over 256 KiB rolls back', async () => {
    const key = freshKey();
    const op = define().handler(async ({ tx }) => {
      await effect(tx, key);
      return 'x'.repeat(300_000);
    });
    const outcome = await op.execute({ key, payload: {} });
    expect(outcome).toMatchObject({ ok: false, code: 'result_too_large', executed: false, retry: 'never' });
    expectCounted([await effects(database.client, key), await rowsOf(database.client, key)]).toEqual([0, []]);
  });

  test('R1 an answer that cannot be stored rolls back, and the developer is told its place', async () => {
    const key = freshKey();
    const onError = vi.fn();
    class Money {}
    const op = define({ onError }).handler(async ({ tx }) => {
      await effect(tx, key);
      return { total: new Money() };
    });
    expect(await op.execute({ key, payload: {} })).toMatchObject({ ok: false, code: 'internal', executed: false });
    expect(onError.mock.calls[0]?.[0]).toMatchObject({
      name: 'ConfigurationError',
      message: expect.stringContaining('.total'),
    });
    expectCounted(await effects(database.client, key)).toBe(0);
  });
});

describe('S2 stored refusals', () => {
  test('S2 fail() is stored with what was written, onRefused runs in the same transaction, both are replayed once', async () => {
    const key = freshKey();
    const onRefused = vi.fn(async (tx: never, refused: { key: string }) => effect(tx, `${refused.key} undone`));
    const behind = vi.fn();
    const op = define({}, { onRefused }).handler(async ({ tx, fail, input }) => {
      await effect(tx, key);
      fail('sold_out', { left: 0, at: new Date(5) }, { status: 409, message: 'Sold out.' });
      behind(input);
    });
    const first = await op.run({ key, payload: { sku: 'tea' } });
    const refusal = {
      ok: false,
      code: 'failed',
      reason: 'sold_out',
      message: 'Sold out.',
      retry: 'new-key',
      executed: false,
      data: { left: 0, at: new Date(5) },
    };
    expect(first).toMatchObject({ status: 409, outcome: { ...refusal, replayed: false } });
    expect(onRefused).toHaveBeenCalledExactlyOnceWith(expect.anything(), {
      reason: 'sold_out',
      data: refusal.data,
      input: { sku: 'tea' },
      key,
      scope: { ...ANN, operation: op.name },
      steps: {},
    });
    expect(await op.run({ key, payload: { sku: 'tea' } })).toMatchObject({
      status: 409,
      outcome: { ...refusal, replayed: true },
    });
    expect(onRefused).toHaveBeenCalledTimes(1);
    expect(behind).not.toHaveBeenCalled();
    expectCounted([await effects(database.client, key), await effects(database.client, `${key} undone`)]).toEqual([
      1, 1,
    ]);
    expectCounted(await rowsOf(database.client, key)).toMatchObject([{ state: 'failed' }]);
  });

  test('S2 where onRefused throws, the refusal is not stored either', async () => {
    const key = freshKey();
    const onRefused = () => Promise.reject(new Error('cannot undo'));
    const op = define({}, { onRefused }).handler(async ({ tx, fail }) => {
      await effect(tx, key);
      return fail('no');
    });
    expect(await op.execute({ key, payload: {} })).toMatchObject({ code: 'internal', executed: false });
    expectCounted([await effects(database.client, key), await rowsOf(database.client, key)]).toEqual([0, []]);
  });
});

describe('R2 what steers the framework', () => {
  const throwing = (digest: string) => Promise.reject(Object.assign(new Error('steer'), { digest }));

  test('R2 a redirect is a success: committed, stored, replayed', async () => {
    const key = freshKey();
    const onError = vi.fn();
    const op = define({ onError }).handler(async ({ tx }) => {
      await effect(tx, key);
      return throwing('NEXT_REDIRECT;push;/orders/1;a;303;');
    });
    const redirect = { url: '/orders/1;a', type: 'push', status: 303 };
    expect(await op.run({ key, payload: {} })).toMatchObject({ outcome: { ok: true, replayed: false }, redirect });
    expect(await op.run({ key, payload: {} })).toMatchObject({ outcome: { ok: true, replayed: true }, redirect });
    expect(await op.status({ key })).toMatchObject({ state: 'succeeded', redirect: '/orders/1;a' });
    expectCounted([await effects(database.client, key), onError.mock.calls.length]).toEqual([1, 0]);
  });

  test.each(['NEXT_HTTP_ERROR_FALLBACK;404', 'NEXT_HTTP_ERROR_FALLBACK;403', 'NEXT_NOT_FOUND'])(
    'R2 %s rolls back and is no error',
    async (digest) => {
      const key = freshKey();
      const onError = vi.fn();
      const op = define({ onError }).handler(async ({ tx }) => {
        await effect(tx, key);
        return throwing(digest);
      });
      expect(await op.run({ key, payload: {} })).toMatchObject({
        outcome: { ok: false, executed: false },
        thrown: { digest },
      });
      expect([
        await effects(database.client, key),
        await rowsOf(database.client, key),
        onError.mock.calls.length,
      ]).toEqual([0, [], 0]);
    },
  );
});

describe('afterCommit', () => {
  test('runs once the effect is committed, and not on a replay', async () => {
    const key = freshKey();
    const seen: number[] = [];
    const op = define().handler(async ({ tx, afterCommit }) => {
      await effect(tx, key);
      afterCommit(async () => void seen.push(await effects(database.client, key)));
      expect(seen).toEqual([]);
    });
    await op.execute({ key, payload: {} });
    await op.execute({ key, payload: {} });
    expect(seen).toEqual([1]);
  });

  test('does not run when the transaction rolled back', async () => {
    const after = vi.fn();
    const op = define().handler(async ({ afterCommit }) => {
      afterCommit(after);
      throw new Error('boom');
    });
    await op.execute({ key: freshKey(), payload: {} });
    expect(after).not.toHaveBeenCalled();
  });

  test('its error is reported and does not change the outcome', async () => {
    const onError = vi.fn();
    const op = define({ onError }).handler(async ({ afterCommit }) => {
      afterCommit(() => Promise.reject(new Error('cache is down')));
      return 1;
    });
    expect(withoutKeys(await op.execute({ key: freshKey(), payload: {} }))).toEqual({
      ok: true,
      data: 1,
      replayed: false,
    });
    expect(onError).toHaveBeenCalledTimes(1);
  });
});
