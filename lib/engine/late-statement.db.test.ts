import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type TestDatabase, testDatabase } from '../demo/test-database.ts';
import { anything, effect, effects, freshKey, kit } from './engine.testsuite.ts';

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
  let rolledBack = 0;
  for (let delay = 0; delay < 100; delay++) {
    const key = freshKey();
    const operation = kit(database.client, { onError })
      .operation({ name: 'checkout', schema: anything })
      .handler(async ({ tx }) => {
        await effect(tx, key);
        const order = { create: { id: randomUUID(), ...BROKEN_ORDER } };
        void tx.cart.create({ data: { id: randomUUID(), shopper: 's', sku: 'x', quantity: 1, order } }).catch(() => {});
        // Differently far, so that the failing statement lands before, between and behind the kit's own.
        for (let turn = 0; turn < delay % 12; turn++) await new Promise((resolve) => setImmediate(resolve));
        return 'fine';
      });
    const { ok } = await operation.execute({ key, payload: {} });
    expect({ delay, ok, effects: await effects(database.client, key) }).toEqual({ delay, ok, effects: ok ? 1 : 0 });
    if (!ok) rolledBack++;
  }
  expect(rolledBack).toBeGreaterThan(0);
});
