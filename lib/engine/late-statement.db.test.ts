import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { anything, effect, effects, freshKey, kit } from '../integration/kit.fixture.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());

/** Breaks a CHECK in the second of its two statements. */
const BROKEN_ORDER = {
  tenant: 't',
  principal: 'p',
  sku: 'x',
  quantity: 1,
  amountCents: -1,
  status: 'paid',
  paymentMethod: 'x',
  source: 'lab',
};

test('S2 a nested write that nobody awaits and that fails never makes a success of a rollback', async () => {
  const onError = vi.fn();
  /** Goes on for so many turns of the event loop, or until the write has failed. */
  const attempt = async (turns: number) => {
    const key = freshKey();
    let waited = 0;
    const operation = kit(database.client, { onError })
      .operation({ name: 'checkout', schema: anything })
      .handler(async ({ tx }) => {
        await effect(tx, key);
        const order = { create: { id: randomUUID(), ...BROKEN_ORDER } };
        let hasFailed = false;
        void tx.cart.create({ data: { id: randomUUID(), shopper: 's', sku: 'x', quantity: 1, order } }).catch(() => {
          hasFailed = true;
        });
        for (; waited < turns && !hasFailed; waited++) await new Promise((resolve) => setImmediate(resolve));
        return 'fine';
      });
    const { ok } = await operation.execute({ key, payload: {} });
    expectCounted({ turns, ok, effects: await effects(database.client, key) }).toEqual({
      turns,
      ok,
      effects: ok ? 1 : 0,
    });
    return { ok, waited };
  };

  const { ok, waited } = await attempt(Number.POSITIVE_INFINITY);
  expect(ok, 'the write has failed before the handler returns').toBe(false);
  // Differently far, so that the failing statement lands before, between and behind the kit's own.
  for (let part = 0; part < 100; part++) await attempt(Math.floor((waited * part) / 100));
});
