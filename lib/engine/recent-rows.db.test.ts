import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import {
  ANN,
  anything,
  BOB,
  effect,
  effects,
  freshKey,
  rowsOf,
  SECRET,
  withoutKeys,
} from '../integration/kit.fixture.ts';
import { prismaStore } from '../store/prisma/store.ts';
import { idempotencyOn } from './idempotency.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());

/** One process, whose questions to the database are counted. */
function process(more: object = {}, ends: (context: never) => unknown = () => ({ id: 'o1' })) {
  const store = prismaStore(database.client);
  const asked = { execute: 0, rerun: 0, findObstacle: 0, probe: 0 };
  const counted = Object.fromEntries(
    Object.keys(asked).map((name) => [
      name,
      (...args: never[]) => {
        asked[name as keyof typeof asked]++;
        return (store[name as keyof typeof asked] as (...args: never[]) => unknown)(...args);
      },
    ]),
  );
  const onError = vi.fn();
  const kit = idempotencyOn({ ...store, ...counted } as typeof store, {
    scope: () => ANN,
    waitMs: 10_000,
    secret: [SECRET],
    onError,
    redefine: true, // one process, after a deploy
  });
  const define = (options: object = {}, answer = ends) =>
    kit
      .operation({ name: 'checkout', schema: anything, acceptKeys: 'any', ...more, ...options })
      .handler(async (context) => {
        await effect(context.tx, context.key);
        return answer(context as never);
      });
  /** The questions since it was last asked. */
  const questions = () => {
    const now = { ...asked };
    for (const name of Object.keys(asked)) asked[name as keyof typeof asked] = 0;
    return Object.fromEntries(Object.entries(now).filter(([, times]) => times > 0));
  };
  return { ...define(), define, questions, onError };
}

const at = (key: string, more: object = {}) => ({ key, payload: { sku: 'mug' }, ...more });

describe('a key that has just ended in this process', () => {
  test('R1 is replayed to the letter without the database, on the first attempt and on a retry', async () => {
    const here = process({}, () => ({ at: new Date(1.7e12), cents: 2n }));
    const key = freshKey();
    const first = await here.run(at(key));
    expect(here.questions()).toEqual({ execute: 1 });
    for (const attempt of [1, 2]) {
      const again = await here.run(at(key, { attempt }));
      expect(withoutKeys(again.outcome)).toStrictEqual({ ...withoutKeys(first.outcome), replayed: true });
      expect(again.expiresAt).toEqual(first.expiresAt);
      expect((again.outcome as { data: object }).data).not.toBe((first.outcome as { data: object }).data);
    }
    expectCounted([here.questions(), await effects(database.client, key)]).toEqual([{}, 1]);
  });

  test('S2 S5 so are a stored refusal and a tombstone, once they were seen', async () => {
    const declined = process({}, ({ fail }: { fail: (code: string) => never }) => fail('declined'));
    const [refused, fenced] = [freshKey(), freshKey()];
    await declined.execute(at(refused));
    expect(await declined.execute(at(refused))).toMatchObject({ code: 'failed', reason: 'declined', executed: false });
    expect(declined.questions()).toEqual({ execute: 1 });

    const here = process();
    await here.fence({ key: fenced });
    for (let i = 0; i < 2; i++) expect(await here.execute(at(fenced))).toMatchObject({ code: 'key_abandoned' });
    expectCounted([here.questions(), await effects(database.client, fenced)]).toEqual([{ execute: 1 }, 0]);
  });

  test('O2 decides before validation, and X1 F1 for its own principal and payload alone', async () => {
    const here = process();
    const key = freshKey();
    await here.execute(at(key));
    const strict = here.define({ schema: z.object({ nothing: z.string() }) });
    expect(await strict.execute(at(key) as never)).toMatchObject({ ok: true, replayed: true });
    expect(here.questions()).toEqual({ execute: 1 });
    expect(await here.execute({ key, payload: { sku: 'lamp' } })).toMatchObject({ code: 'payload_mismatch' });
    expect(here.questions()).toEqual({});
    expect(await here.execute(at(key, { scope: BOB }))).toMatchObject({ ok: true, replayed: false });
    expect(await here.define().as('refund').execute(at(key))).toMatchObject({ ok: true, replayed: false });
  });

  test('S2 nothing is remembered of an execution that rolled back', async () => {
    const here = process(
      {},
      vi
        .fn(() => 'done')
        .mockImplementationOnce(() => {
          throw new Error('not now');
        }),
    );
    const key = freshKey();
    expect(await here.execute(at(key))).toMatchObject({ code: 'internal' });
    expect(await here.execute(at(key))).toMatchObject({ ok: true, replayed: false });
    expect(here.questions()).toEqual({ execute: 2 });
  });

  test('S5 status and fence ask the database', async () => {
    const here = process();
    const key = freshKey();
    await here.execute(at(key));
    await database.client.idempotencyKey.deleteMany({ where: { key } });
    expect(await here.status({ key })).toMatchObject({ state: 'absent' });
    expect(await here.fence({ key })).toMatchObject({ fenced: true });
  });
});

describe('a key that ended in another process', () => {
  test('O2 a retry asks once, by a read alone, and after that not any more', async () => {
    const key = freshKey();
    await process().execute(at(key));
    const here = process();
    for (let i = 0; i < 2; i++) {
      expect(await here.execute(at(key, { attempt: 2 }))).toMatchObject({ ok: true, replayed: true });
    }
    expect(here.questions()).toEqual({ findObstacle: 1 });
  });

  test('X3 whose answer was erased is replayed for five seconds at most, and then cannot be read', async () => {
    const clock = vi.spyOn(performance, 'now');
    const here = process();
    const key = freshKey();
    await here.execute(at(key));
    await database.client.idempotencyKey.updateMany({ where: { key }, data: { result: null } });
    expect(await here.execute(at(key))).toMatchObject({ ok: true });
    const now = performance.now();
    clock.mockImplementation(() => now + 5000);
    expect(await here.execute(at(key))).toMatchObject({ code: 'result_unreadable', executed: true });
    clock.mockRestore();
    expectCounted(await effects(database.client, key)).toBe(1);
  });
});

describe('R3 an answer of another version', () => {
  test('R3 is led up by upcasts, and that of a newer one is not guessed at', async () => {
    const here = process();
    const key = freshKey();
    await here.execute(at(key));
    const newer = here.define({ schemaVersion: 2, upcasts: { 1: ({ id }: { id: string }) => ({ number: id }) } });
    expect(await newer.execute(at(key))).toMatchObject({ data: { number: 'o1' }, replayed: true });
    const [late, without] = [freshKey(), here.define({ schemaVersion: 2 })];
    await without.execute(at(late));
    expect(await here.execute(at(late))).toMatchObject({ code: 'unavailable', retry: 'same-key' });
    expect(await without.execute(at(key))).toMatchObject({ code: 'result_unreadable' });
    expect(here.questions()).toEqual({ execute: 2 });
  });

  test('R3 what is naturally idempotent runs again in its place, once, and the new answer is remembered', async () => {
    const here = process();
    const key = freshKey();
    await here.execute(at(key));
    const newer = here.define({ schemaVersion: 2, naturallyIdempotent: true }, () => 'v2');
    const calls = await Promise.all([1, 2, 3].map(() => newer.execute(at(key))));
    expect(calls).toMatchObject([{ data: 'v2' }, { data: 'v2' }, { data: 'v2' }]);
    expect(await newer.execute(at(key))).toMatchObject({ data: 'v2', replayed: true });
    expect(here.questions()).toEqual({ execute: 1, rerun: 3 });
    expectCounted(await effects(database.client, key)).toBe(2);
    expectCounted(await rowsOf(database.client, key)).toMatchObject([{ schemaVersion: 2 }]);
    expect(here.onError).toHaveBeenCalledTimes(3); // each unreadable answer once
  });
});
