import { expect, test } from 'vitest';
import { notExecuted } from '../../index.ts';
import { anything, conflict, freshKey, kit, type Tx } from '../../integration/kit.fixture.ts';
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

test('each try of a phase that conflicts has input, context, captured values and results as they were when it began', async () => {
  const seen: unknown[] = [];
  const checkout = kit(database.client)
    .operation({ name: 'conflicting', schema: anything })
    .phases(async ({ input, context, capture, atomic }) => {
      const payload = input as { amount: number; lines: { cents: number }[] };
      const [who] = context as [{ name: string }];
      const price = await capture('price', () => ({ cents: 5000 }));
      const order = await atomic('order', async () => ({ tags: new Set(['new']), at: new Date(0) }));
      payload.amount += 1; // before it: each run does it
      const [line = { cents: 0 }] = payload.lines;
      return await atomic('charge', async (tx) => {
        seen.push(structuredClone([payload, line, who, price, order]));
        payload.amount /= 100;
        line.cents = price.cents = 1;
        payload.lines.push({ cents: 2 });
        who.name = 'another';
        order.tags.add('charged');
        order.at.setTime(1);
        if (seen.length < 3) await conflict(tx);
        return payload.amount;
      });
    });
  const payload = { amount: 4999, lines: [{ cents: 7 }] };
  const paid = await checkout.execute({ key: freshKey(), payload, context: [{ name: 'ann' }] });
  expect(paid).toMatchObject({ ok: true, data: 50 });
  const asItWas = [
    { amount: 5000, lines: [{ cents: 7 }] },
    { cents: 7 },
    { name: 'ann' },
    { cents: 5000 },
    { tags: new Set(['new']), at: new Date(0) },
  ];
  expect(seen).toEqual(Array(3).fill(asItWas));
});

test('each try of what a refusal undoes has its input, its data and the results as they were', async () => {
  const seen: unknown[] = [];
  const options = {
    name: 'refusing',
    schema: anything,
    onRefused: async (tx: Tx, { input, data, steps }: { input: unknown; data: unknown; steps: unknown }) => {
      seen.push(structuredClone([input, data, steps]));
      for (const one of [input, data, Object(steps).order]) one.amount /= 100;
      if (seen.length < 3) await conflict(tx);
    },
  };
  const checkout = kit(database.client)
    .operation(options)
    .phases(async ({ atomic, fail }) => {
      await atomic('order', async () => ({ amount: 5000 }));
      return fail('sold_out', { amount: 5000 });
    });
  const paid = await checkout.execute({ key: freshKey(), payload: { amount: 5000 } });
  expect(paid).toMatchObject({ code: 'failed', reason: 'sold_out' });
  const [amount, order] = [{ amount: 5000 }, { order: { amount: 5000 } }];
  expect(seen).toEqual(Array(3).fill([amount, amount, order]));
});

test('each try of a handler has the context as it was sent', async () => {
  const seen: unknown[] = [];
  const pay = kit(database.client)
    .operation({ name: 'bound', schema: anything })
    .handler(async ({ tx, context }) => {
      seen.push(structuredClone(context));
      const [bound] = context as [{ amount: number }];
      bound.amount /= 100;
      if (seen.length < 3) await conflict(tx);
      return bound.amount;
    });
  const paid = await pay.execute({ key: freshKey(), payload: {}, context: [{ amount: 5000 }] });
  expect(paid).toMatchObject({ ok: true, data: 50 });
  expect(seen).toEqual(Array(3).fill([{ amount: 5000 }]));
});
