import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { ANN, anything, BOB, effect, effects, freshKey, gate, kit, SECRET } from '../integration/kit.fixture.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());

/** An operation whose answers may be seen until somebody says otherwise; in one process, and in another one. */
function shop(more: object = {}) {
  const mayReplay = vi.fn((_: unknown): unknown => true);
  const { open, opened } = gate();
  const onError = vi.fn();
  const process = () =>
    kit(database.client, { onError, secret: [SECRET] })
      .operation({
        name: 'checkout',
        schema: anything,
        acceptKeys: 'any',
        mayReplay: mayReplay as never,
        ...more,
      })
      .handler(async ({ tx, key }) => {
        await effect(tx, key);
        await opened;
        return { secret: 'of the company' };
      });
  return { mayReplay, here: process(), elsewhere: process(), open, onError };
}

const REFUSED = { ok: false, code: 'unauthorized', executed: 'unknown' };

function expectNothingTold(outcome: object): void {
  expect(outcome).toMatchObject(REFUSED);
  expect(JSON.stringify(outcome)).not.toContain('company');
  expect(outcome).not.toHaveProperty('data');
}

describe('O3 who may no longer see an answer', () => {
  test('is told nothing of it: remembered or stored, of another payload, by status and by a fence', async () => {
    const { mayReplay, here, elsewhere, open } = shop();
    open();
    const call = { key: freshKey(), payload: { a: 1 } };
    expect(await here.execute(call)).toMatchObject({ ok: true, replayed: false });
    expect(mayReplay).not.toHaveBeenCalled();
    expect(await elsewhere.execute(call)).toMatchObject({ ok: true, replayed: true });
    expect(mayReplay).toHaveBeenCalledExactlyOnceWith({ scope: { ...ANN, operation: 'checkout' }, key: call.key });
    for (const no of [false, Promise.resolve(false), undefined, 1]) {
      mayReplay.mockReturnValue(no);
      for (const operation of [here, elsewhere]) {
        expectNothingTold(await operation.execute({ ...call, attempt: 1 }));
        expectNothingTold(await operation.execute({ ...call, attempt: 2 }));
        expectNothingTold(await operation.execute({ ...call, payload: { a: 2 } }));
        expectNothingTold(await operation.status(call));
        expectNothingTold(await operation.fence(call));
      }
    }
    expectCounted(await effects(database.client, call.key)).toBe(1);
  });

  test('nor is who has joined the first execution', async () => {
    const { mayReplay, here, open } = shop();
    mayReplay.mockReturnValue(false);
    const call = { key: freshKey(), payload: {} };
    const calls = [here.execute(call), here.execute(call)];
    open();
    const [first, joined] = await Promise.all(calls);
    expect(first).toMatchObject({ ok: true, replayed: false });
    expectNothingTold(joined as object);
    expectCounted(await effects(database.client, call.key)).toBe(1);
  });

  test('nor is a second key of one thing, which has the answer of the first', async () => {
    const { mayReplay, here, open } = shop({ oncePer: () => `cart of ${ANN.principal}` });
    open();
    const first = freshKey();
    await here.execute({ key: first, payload: {} });
    mayReplay.mockReturnValue(false);
    expectNothingTold(await here.execute({ key: freshKey(), payload: {} }));
    expect(mayReplay).toHaveBeenLastCalledWith({ scope: { ...ANN, operation: 'checkout' }, key: first });
  });

  test('nor is a retry that would go on with phases from what they have stored; a worker goes on all the same', async () => {
    const mayReplay = vi.fn(() => true);
    let fails = true;
    const idempotency = kit(database.client, { secret: [SECRET], onError: () => {} });
    const pay = idempotency
      .operation({ name: 'pay', schema: anything, acceptKeys: 'any', mayReplay })
      .phases(async ({ atomic }) => {
        const got = await atomic('order', async () => 'of the company');
        if (fails) throw new Error('stop');
        return { got };
      });
    const call = { key: freshKey(), payload: {} };
    await pay.execute(call);
    const over = database.client.idempotencyKey.updateMany({
      where: { key: call.key },
      data: { leaseUntil: new Date(0), nextAttemptAt: new Date(0) },
    });
    await over;
    fails = false;
    mayReplay.mockReturnValue(false);
    expectNothingTold(await pay.execute({ ...call, attempt: 2 }));
    await idempotency.completeKey({ ...ANN, operation: 'pay', key: call.key });
    mayReplay.mockReturnValue(true);
    expect(await pay.execute(call)).toMatchObject({ ok: true, data: { got: 'of the company' } });
  });

  test('of somebody else’s key for one thing there is nothing to ask', async () => {
    const { mayReplay, here, open } = shop({ oncePer: () => 'the only one' });
    open();
    await here.execute({ key: freshKey(), payload: {} });
    mayReplay.mockReturnValue(false);
    expect(await here.execute({ key: freshKey(), payload: {}, scope: BOB })).toMatchObject({ code: 'already_done' });
  });

  test('where it cannot be found out nothing is told, and nobody says that nothing was done', async () => {
    const { mayReplay, here, open, onError } = shop();
    open();
    const call = { key: freshKey(), payload: {}, attempt: 1 };
    await here.execute(call);
    mayReplay.mockRejectedValue(new Error('no directory'));
    const outcome = await here.execute(call);
    expect(outcome).toMatchObject({ ok: false, code: 'internal', executed: 'unknown' });
    expect(onError).toHaveBeenCalledExactlyOnceWith(
      new Error('no directory'),
      expect.objectContaining({ during: 'checks' }),
    );
  });

  test('is let in again without a second effect, and a fresh key is not asked about', async () => {
    const { mayReplay, here, open } = shop();
    open();
    const call = { key: freshKey(), payload: {} };
    await here.execute(call);
    mayReplay.mockReturnValueOnce(false);
    expectNothingTold(await here.execute(call));
    expect(await here.execute(call)).toMatchObject({ ok: true, replayed: true, data: { secret: 'of the company' } });
    mayReplay.mockReturnValue(false);
    const fresh = freshKey();
    expect(await here.status({ key: fresh })).toMatchObject({ state: 'absent' });
    expect(await here.execute({ key: fresh, payload: {} })).toMatchObject({ ok: true });
    expectCounted([await effects(database.client, call.key), await effects(database.client, fresh)]).toEqual([1, 1]);
  });
});
