import { afterAll, beforeAll, expect, test } from 'vitest';
import * as zod from 'zod';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import type { Principal } from '../index.ts';
import { documented } from '../integration/documented.fixture.ts';
import { ANN, BOB, freshKey, kit, rowsOf, SECRET, type Tx } from '../integration/kit.fixture.ts';
import type { OperationOptions } from './definition.ts';
import type { HandlerContext } from './handler.ts';
import type { Operation } from './operation.ts';

/** The operation of docs/once-per-cart.md, as it stands there, of a shop in which the mug's cart is Ann's. */

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(async () => {
  await database?.drop();
});

type Handler = (context: HandlerContext<never, Tx>) => Promise<unknown>;

function shopOf(who: Principal) {
  const own = kit(database.client, { scope: () => who, secret: [SECRET] });
  const idempotency = {
    operation: (options: OperationOptions<never, Tx>) => ({
      handler: (handle: Handler) =>
        own.operation(options).handler((context) => handle({ ...context, tx: ordersOf(context.tx) } as never)),
    }),
  };
  const cartOf = async (id: string, principal: string) =>
    id.startsWith('mug') && principal === ANN.principal ? { sku: 'mug', quantity: 1 } : null;
  const modules = { zod, '@/lib/idempotency': { idempotency }, '@/lib/carts': { cartOf } };
  const { orderCart } = documented<{ orderCart: Operation<{ cartId: string; note?: string }, { id: string }> }>(
    'docs/once-per-cart.md',
    'lib/order-cart.ts',
    modules,
  );
  return orderCart;
}

/** Orders with what the demo's table needs besides. */
function ordersOf(tx: Tx) {
  const more = { ...ANN, amountCents: 1200, status: 'pending', paymentMethod: 'pm', source: 'api' };
  const create = ({ data }: { data: { sku: string; quantity: number } }) =>
    tx.order.create({ data: { id: crypto.randomUUID(), ...more, ...data } });
  return { order: { create } };
}

test('a cart is ordered once, and each second key is told what the page says', async () => {
  const [anns, bobs] = [shopOf(ANN), shopOf(BOB)];
  const [one, two, three] = [freshKey(), freshKey(), freshKey()];
  const payload = { cartId: 'mug-1' };
  const first = await anns.execute({ key: one, payload });
  expect(first).toMatchObject({ ok: true, replayed: false, data: { sku: 'mug' } });
  const replay = { ...first, replayed: true, key: one, nextKey: expect.any(String) };
  expect(await shopOf(ANN).execute({ key: two, payload })).toEqual(replay);
  const edited = await anns.execute({ key: three, payload: { ...payload, note: 'as a gift' } });
  expect(edited).toMatchObject({ code: 'payload_mismatch', executed: true, key: one });
  expectCounted(await database.client.order.count({ where: { sku: 'mug' } })).toBe(1);

  const told = await bobs.execute({ key: freshKey(), payload });
  expect(told).toMatchObject({ code: 'unauthorized' });
  expect(JSON.stringify(told)).not.toContain(one);

  // The second key is not used up.
  expectCounted(await rowsOf(database.client, two)).toEqual([]);
  const another = await anns.execute({ key: two, payload: { cartId: 'mug-2' } });
  expect(another).toMatchObject({ ok: true, replayed: false, key: two });
});
