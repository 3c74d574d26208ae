import { describe, expect, test, vi } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import type { Options } from '../index.ts';
import { ANN, anything, effect, effects, freshKey, kit } from '../integration/kit.fixture.ts';
import { database, expire, lose, rowOf, usePhases } from './phases/shop.fixture.ts';

usePhases();

type Order = { id: string };
type RedirectTo = (order: Order) => string | undefined;
const toOrder: RedirectTo = ({ id }) => `/orders/${id}`;

/** An order in one transaction, or in a phase. */
function op(redirectTo?: RedirectTo, options: Partial<Options> = {}, result: unknown = { id: 'o1' }) {
  const answer = redirectTo && { redirectTo };
  const on = kit(database.client, options);
  const checkout = on.operation({ name: 'checkout', schema: anything }).handler(async ({ tx, key, fail }) => {
    await effect(tx, key);
    if (result === 'refused') return fail('sold_out');
    if (result instanceof Error) throw result;
    return result as Order;
  }, answer);
  const inPhases = on.operation({ name: 'ship', schema: anything }).phases(async ({ atomic, key }) => {
    await atomic('order_created', (tx) => effect(tx, key));
    return { id: 'o1' };
  }, answer);
  return { ...on, checkout, inPhases, each: [checkout, inPhases] };
}

/** The stored answer of a result alone. */
const ALONE = 'd[{"id":1},"o1"]';

test('R2 it is stored with the answer, and every replay, status and name of the operation leads there', async () => {
  for (const [n, { name }] of op().each.entries()) {
    const key = freshKey();
    const here = () => op(toOrder).each[n] ?? expect.unreachable();
    expect(await here().run({ key, payload: {} })).toMatchObject({
      outcome: { replayed: false },
      leadsTo: '/orders/o1',
    });
    expect(JSON.parse((await rowOf(key))?.result ?? '')).toContain('/orders/o1');
    // What was stored decides, and not what the operation says today.
    const today = op(() => '/elsewhere').each[n];
    expect(await today?.run({ key, payload: {} })).toMatchObject({
      outcome: { replayed: true, data: { id: 'o1' } },
      leadsTo: '/orders/o1',
    });
    expect(await today?.status({ key })).toMatchObject({ state: 'succeeded', redirect: '/orders/o1' });
    const other = freshKey();
    expect(await here().as(`${name}.api`).run({ key: other, payload: {} })).toMatchObject({ leadsTo: '/orders/o1' });
  }
});

test('of an answer that leads nowhere the row is as it always was, and rows of before are read', async () => {
  for (const nowhere of [undefined, () => undefined, () => '', (() => null) as never]) {
    for (const [n, each] of op(nowhere).each.entries()) {
      const key = freshKey();
      await each.execute({ key, payload: {} });
      expect((await rowOf(key))?.result).toBe(ALONE);
      const run = await op(toOrder).each[n]?.run({ key, payload: {} });
      expect([run?.outcome, run?.leadsTo]).toMatchObject([{ ok: true, data: { id: 'o1' } }, undefined]);
      expect(await each.status({ key })).not.toHaveProperty('redirect');
    }
  }
});

test.each<[string, RedirectTo]>([
  [
    'throws',
    () => {
      throw new Error('no route');
    },
  ],
  ['returns a promise', (async () => '/orders/o1') as never],
  ['returns a promise that rejects', (() => Promise.reject(new Error('late'))) as never],
  ['returns what is no address', (() => 7) as never],
  ['returns more than can be stored', () => `/orders/o1?${'x'.repeat(300_000)}`],
])('R2 one that %s is reported, undoes nothing, and nothing is stored of it', async (_, redirectTo) => {
  const onError = vi.fn();
  for (const { name, ...each } of op(redirectTo, { onError }).each) {
    const key = freshKey();
    onError.mockClear();
    const run = await each.run({ key, payload: {} });
    expect([run.outcome, run.leadsTo]).toMatchObject([{ ok: true, replayed: false }, undefined]);
    const told = { operation: name, key, during: 'redirectTo' };
    expect(onError.mock.calls).toEqual([[expect.any(Error), expect.objectContaining(told)]]);
    expect((await rowOf(key))?.result).toBe(ALONE);
    expectCounted(await effects(database.client, key)).toBe(1);
  }
});

test.each([
  ['a refusal', 'refused'],
  ['a Response', new Response('made', { status: 201 })],
  ['a redirect()', Object.assign(new Error(), { digest: 'NEXT_REDIRECT;push;/thanks;307;' })],
  ['an error', new Error('no luck')],
])('of %s it is not asked', async (_, result) => {
  const redirectTo = vi.fn(toOrder);
  const { leadsTo } = await op(redirectTo, {}, result).checkout.run({ key: freshKey(), payload: {} });
  expect([leadsTo, redirectTo.mock.calls]).toEqual([undefined, []]);
});

test('a try that was rolled back has asked for nothing that stays: the address is of the answer that is stored', async () => {
  const key = freshKey();
  let tries = 0;
  const { operation } = kit(database.client);
  const checkout = operation({ name: 'checkout', schema: anything }).handler(
    async ({ tx }) => {
      await effect(tx, key);
      if (++tries === 1) await tx.$executeRaw`DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END $$`;
      return { id: `o${tries}` };
    },
    { redirectTo: toOrder },
  );
  expect(await checkout.run({ key, payload: {} })).toMatchObject({ leadsTo: '/orders/o2' });
  expectCounted(await effects(database.client, key)).toBe(1);
});

describe('a key that nobody waits for', () => {
  test('has the address when a worker finishes it', async () => {
    const key = freshKey();
    const define = (dies: boolean) => {
      const on = kit(database.client);
      const ship = on.operation({ name: 'ship', schema: anything }).phases(
        async ({ atomic }) => {
          await atomic('order_created', (tx) => effect(tx, key));
          if (dies) throw new Error('no luck');
          return { id: 'o1' };
        },
        { redirectTo: toOrder },
      );
      return { ...on, ship };
    };
    expect(await define(true).ship.execute({ key, payload: {} })).toMatchObject({ executed: 'unknown' });
    await expire(key);
    const { ship, completeDue } = define(false);
    expect(await completeDue({ limit: 100 })).toMatchObject({ settled: 1 });
    expect(await ship.status({ key })).toMatchObject({ outcome: { data: { id: 'o1' } }, redirect: '/orders/o1' });
    expectCounted(await effects(database.client, key)).toBe(1);
  });

  test('has it when a person enters the lost answer by hand', async () => {
    const key = freshKey();
    await op(toOrder).checkout.execute({ key, payload: {} });
    await lose(key);
    const { checkout, lookUpLost } = op(toOrder);
    const state = await lookUpLost({ ...ANN, operation: 'checkout', key, result: { data: { id: 'o7' } } }, () => false);
    expect(state.kind === 'lost' && (await state.enter?.('eve'))).toEqual({ kind: 'entered', state: 'succeeded' });
    expect(await checkout.status({ key })).toMatchObject({ outcome: { data: { id: 'o7' } }, redirect: '/orders/o7' });
  });
});
