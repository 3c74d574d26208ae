import { expect, test } from 'vitest';
import { notExecuted } from '../../index.ts';
import { anything, freshKey, kit } from '../../integration/kit.fixture.ts';
import { database, expire, shop, usePhases } from './shop.fixture.ts';

usePhases();

test('the arguments that are sent are those that are stored, whatever becomes of the object meanwhile', async () => {
  const sent: number[] = [];
  const given = { amount: 5000, order: 'o' };
  const send = async (stored: typeof given) => {
    sent.push(stored.amount);
    for (const one of [given, stored]) one.amount = 3;
    if (sent.length < 3) throw notExecuted();
    return { id: 'ch_1' };
  };
  const onPoint = (point: string) => {
    if (point === 'before-started') given.amount = 1;
  };
  const { checkout } = shop({ onPoint }, { arguments: given, send });
  expect(await checkout.execute({ key: freshKey(), payload: {} })).toMatchObject({ ok: true });
  expect(sent).toEqual([5000, 5000, 5000]);
});

test('a later run has the input and the results of steps as they were stored, whatever an earlier one has made of them', async () => {
  const seen: unknown[] = [];
  let dies = true;
  const idempotency = kit(database.client);
  const checkout = idempotency
    .operation({ name: 'changing', schema: anything })
    .phases(async ({ input, capture, atomic }) => {
      const payload = input as { amount: number };
      const price = await capture('price', () => ({ cents: 5000 }));
      const order = await atomic('order', async () => ({ lines: [5000] }));
      seen.push(structuredClone([payload, price, order]));
      payload.amount = price.cents = order.lines[0] = 1;
      if (dies) throw new Error('dies');
      return 'done';
    });
  const key = freshKey();
  await checkout.execute({ key, payload: { amount: 5000 } });
  await expire(key);
  dies = false;
  await idempotency.completeDue({ limit: 100 });
  expect(seen).toEqual(Array(2).fill([{ amount: 5000 }, { cents: 5000 }, { lines: [5000] }]));
});
