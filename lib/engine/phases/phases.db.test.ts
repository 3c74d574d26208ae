import { describe, expect, test } from 'vitest';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import { createClient } from '../../../shop/db.ts';
import { anything, effect, effects, freshKey, gate, kit, withoutKeys } from '../../integration/kit.fixture.ts';
import { database, expectOnce, expire, provider, rowOf, shop, stepsOf, usePhases } from './shop.fixture.ts';

usePhases();

describe('an operation in phases', () => {
  test('does each step once, settles, and replays', async () => {
    const { checkout } = shop();
    const key = freshKey();
    const first = await checkout.execute({ key, payload: { n: 1 } });
    expect(first).toMatchObject({ ok: true, replayed: false, data: { order: `order-of-${key}`, charge: 'ch_1' } });
    const second = await checkout.execute({ key, payload: { n: 1 } });
    expect(second).toMatchObject({ ok: true, replayed: true, data: { order: `order-of-${key}`, charge: 'ch_1' } });
    await expectOnce(key);
    expect(await rowOf(key)).toMatchObject({
      state: 'succeeded',
      recoveryPoint: 'finished',
      input: null,
      leaseUntil: null,
      nextAttemptAt: null,
      attempts: 1,
    });
    const steps = await stepsOf(key);
    expect(steps.map(({ name, kind, state }) => [name, kind, state])).toEqual([
      ['order_id', 'capture', 'done'],
      ['order_created', 'atomic', 'done'],
      ['charge_created', 'foreign', 'done'],
      ['finished', 'atomic', 'done'],
    ]);
    expect(steps.every(({ result, arguments: stored }) => result === null && stored === null)).toBe(true);
  });

  test('another payload under the key is a mismatch, also while it runs', async () => {
    const { checkout } = shop();
    const key = freshKey();
    const charging = gate();
    const go = gate();
    provider.onCharge = async () => {
      charging.open();
      await go.opened;
    };
    const first = checkout.execute({ key, payload: { n: 1 } });
    await charging.opened;
    const elsewhere = shop();
    expect(withoutKeys(await elsewhere.checkout.execute({ key, payload: { n: 2 } }))).toMatchObject({
      code: 'payload_mismatch',
    });
    expect(withoutKeys(await elsewhere.checkout.execute({ key, payload: { n: 1 } }))).toMatchObject({
      code: 'in_flight',
    });
    go.open();
    expect(await first).toMatchObject({ ok: true });
    await expectOnce(key);
  });

  test('what a step throws leaves the key resumable, and a retry goes on behind the finished ones', async () => {
    const key = freshKey();
    let runs = 0;
    const pay = kit(database.client)
      .operation({ name: 'pay', schema: anything })
      .phases(async ({ atomic }) => {
        await atomic('order_created', async (tx) => effect(tx, `${key}:order`));
        await atomic('finished', async (tx) => {
          await effect(tx, `${key}:finished`);
          if (++runs === 1) throw new Error('no luck');
        });
      });
    const first = await pay.execute({ key, payload: {} });
    expect(first).toMatchObject({ ok: false, code: 'internal', executed: 'unknown', retry: 'same-key' });
    expect(await rowOf(key)).toMatchObject({ state: 'in_progress', recoveryPoint: 'order_created' });
    expectCounted(await effects(database.client, `${key}:finished`)).toBe(0);
    expect(await pay.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true, replayed: false });
    expectCounted(await effects(database.client, `${key}:order`)).toBe(1);
    expectCounted(await effects(database.client, `${key}:finished`)).toBe(1);
  });

  test('P1 a renamed, reordered or vanished step is refused', async () => {
    const key = freshKey();
    const begun = (names: string[], fails: boolean) =>
      kit(database.client)
        .operation({ name: 'pay', schema: anything })
        .phases(async ({ atomic }) => {
          for (const name of names) await atomic(name, async () => name);
          if (fails) throw new Error('stop');
        })
        .execute({ key, payload: {} });
    await begun(['a', 'b'], true);
    for (const names of [['a', 'c'], ['b', 'a'], ['a']]) {
      expect(await begun(names, false)).toMatchObject({ code: 'phase_mismatch', retry: 'never', executed: 'unknown' });
    }
    expect(await begun(['a', 'b', 'd'], false)).toMatchObject({ ok: true });
  });

  test('steps run one at a time, under names of their own', async () => {
    const thrown: unknown[] = [];
    const idempotency = () => kit(database.client, { onError: (error) => void thrown.push(error) });
    const attempt = async (run: Parameters<ReturnType<ReturnType<typeof kit>['operation']>['phases']>[0]) => {
      thrown.length = 0;
      await idempotency()
        .operation({ name: 'pay', schema: anything })
        .phases(run)
        .execute({ key: freshKey(), payload: {} });
      return (thrown[0] as Error)?.message;
    };
    expect(
      await attempt(({ atomic }) => Promise.all([atomic('a', async () => 1), atomic('b', async () => 2)])),
    ).toMatch('One at a time');
    expect(await attempt(({ atomic, capture }) => atomic('a', () => capture('b', () => 1)))).toMatch('inside a');
    expect(
      await attempt(async ({ atomic }) => {
        await atomic('a', async () => 1);
        await atomic('a', async () => 2);
      }),
    ).toMatch('Two steps are called a');
  });

  test('fail inside a phase commits what it wrote, with the refusal and onRefused', async () => {
    const key = freshKey();
    const pay = kit(database.client)
      .operation({
        name: 'pay',
        schema: anything,
        onRefused: (tx, refused) => effect(tx, `${refused.key}:undone:${refused.reason}`),
      })
      .phases(async ({ atomic, fail }) => {
        await atomic('order_created', (tx) => effect(tx, `${key}:order`));
        await atomic('finished', async (tx) => {
          await effect(tx, `${key}:written`);
          return fail('sold_out', { left: 0 }, { status: 409 });
        });
      });
    const refused = { ok: false, code: 'failed', reason: 'sold_out', data: { left: 0 }, executed: false };
    expect(await pay.execute({ key, payload: {} })).toMatchObject(refused);
    expect(await pay.execute({ key, payload: {} })).toMatchObject({ ...refused, replayed: true });
    for (const what of ['order', 'written', 'undone:sold_out']) {
      expectCounted(await effects(database.client, `${key}:${what}`)).toBe(1);
    }
    expect(await rowOf(key)).toMatchObject({ state: 'failed', input: null });
  });

  test('a file in the input is refused before anything is claimed', async () => {
    const { checkout } = shop();
    const key = freshKey();
    await expect(checkout.execute({ key, payload: { file: new Blob(['x']) } })).rejects.toMatchObject({
      name: 'ConfigurationError',
      existing: 'input.file is an instance of Blob',
    });
    expect(await rowOf(key)).toBeUndefined();
  });
});

test('S5 who asks for the status of a key that its executor has left drives it on', async () => {
  const key = freshKey();
  const { checkout } = shop({}, { maxTries: 1 });
  provider.faults = ['after'];
  await checkout.execute({ key, payload: {} });
  expect(await checkout.status({ key })).toMatchObject({ state: 'in_progress' }); // the pause is not over
  await expire(key);
  expect(await checkout.status({ key })).toMatchObject({ state: 'succeeded', outcome: { ok: true } });
  await expectOnce(key);
});

test('S5 a fence loses to a key in phases, and drives it on', async () => {
  const key = freshKey();
  const { checkout } = shop({}, { maxTries: 1 });
  provider.faults = ['before'];
  await checkout.execute({ key, payload: {} });
  await expire(key);
  expect(await checkout.fence({ key })).toMatchObject({ fenced: false, state: 'succeeded' });
  await expectOnce(key);
});

test('a step that threw ends the run, whatever the function makes of it', async () => {
  const key = freshKey();
  let runs = 0;
  const pay = kit(database.client)
    .operation({ name: 'pay', schema: anything })
    .phases(async ({ atomic, fail }) => {
      await atomic('a', async () => {
        if (++runs === 1) throw new Error('no luck');
      }).catch(() => undefined);
      if (runs === 1) fail('gave_up');
      return await atomic('b', async () => 'done');
    });
  expect(await pay.execute({ key, payload: {} })).toMatchObject({ code: 'internal' });
  expect(await pay.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true, data: 'done' });
});

test('a function that waits for ever loses its time, and the key goes on without it', async () => {
  const key = freshKey();
  let runs = 0;
  const pay = (options: { maxRunMs?: number } = {}) =>
    kit(database.client)
      .operation({ name: 'pay', schema: anything, ...options })
      .phases(async ({ atomic }) => {
        if (++runs === 1) await new Promise(() => {});
        return await atomic('a', async () => 'done');
      });
  const first = pay({ maxRunMs: 200 }).execute({ key, payload: {} });
  expect(await first).toMatchObject({ code: 'unavailable', executed: 'unknown' });
  expect(await pay().execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true });
});

test('C6 a query of the function that finds no database is `unavailable`, and the key goes on later', async () => {
  const key = freshKey();
  const away = createClient('postgresql://nobody@127.0.0.1:1/nowhere');
  let isAway = true;
  const pay = kit(database.client)
    .operation({ name: 'pay', schema: anything })
    .phases(async ({ capture }) =>
      capture('price', async () => (isAway ? await away.product.count() : await database.client.product.count())),
    );
  expect(await pay.execute({ key, payload: {} })).toMatchObject({
    code: 'unavailable',
    executed: 'unknown',
    retryAfterMs: 1000,
  });
  isAway = false;
  expect(await pay.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true });
});

test('C6 a scope that finds no database is `unavailable`, and nothing is claimed', async () => {
  const key = freshKey();
  const away = createClient('postgresql://nobody@127.0.0.1:1/nowhere');
  const scope = async () => ({ tenant: 'acme', principal: String(await away.product.count()) });
  const pay = kit(database.client, { scope })
    .operation({ name: 'pay', schema: anything })
    .phases(async () => 'done');
  expect(await pay.execute({ key, payload: {}, attempt: 1 })).toMatchObject({ code: 'unavailable', executed: false });
  expect(await rowOf(key)).toBeUndefined();
});

test('a step that is not awaited settles nothing', async () => {
  const key = freshKey();
  const go = gate();
  provider.onCharge = () => go.opened;
  const pay = kit(database.client)
    .operation({ name: 'pay', schema: anything })
    .phases(async ({ foreign }) => {
      foreign('charge_created', provider.call(key)).catch(() => {});
      return 'done';
    });
  expect(await pay.execute({ key, payload: {} })).toMatchObject({ ok: false, code: 'internal' });
  expect(await rowOf(key)).toMatchObject({ state: 'in_progress' });
  go.open();
});

test('R3 the version of a result is that of the executor that finished the key', async () => {
  const key = freshKey();
  const version = (schemaVersion: number, result: () => Promise<unknown>) =>
    kit(database.client)
      .operation({ name: 'pay', schema: anything, schemaVersion, upcasts: { 1: () => 'led up' } })
      .phases(({ atomic }) => atomic('a', result));
  await version(1, () => Promise.reject(new Error('not yet'))).execute({ key, payload: {} });
  const newer = version(2, async () => 'of version 2');
  expect(await newer.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true, data: 'of version 2' });
  expect(await newer.execute({ key, payload: {} })).toMatchObject({ data: 'of version 2', replayed: true });
});
