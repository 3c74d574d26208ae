import { beforeEach, describe, expect, test } from 'vitest';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import { createClient } from '../../../shop/db.ts';
import type { Options } from '../../index.ts';
import {
  ANN,
  anything,
  BOB,
  effect,
  effects,
  freshKey,
  gate,
  kit,
  rowsOf,
  SECRET,
} from '../../integration/kit.fixture.ts';
import { type Call, database, expire, provider, rowOf, usePhases } from './shop.fixture.ts';

/** `oncePer` in phases: the first key holds its thing from its claim on, whoever drives it to its end. */

usePhases();

let cart: string;
let carts = 0;
beforeEach(() => {
  cart = `cart-of-phases-${++carts}`;
});

/** A checkout that is done once per cart: an order, a charge, and the end. */
function shop(options: Partial<Options> = {}, how: Partial<Call> = {}, on = database.client) {
  const idempotency = kit(on, options);
  const checkout = idempotency
    .operation({
      name: 'pay',
      schema: anything,
      maxWaitMs: 20_000,
      timeoutMs: 20_000,
      oncePer: ({ input }) => String(input.cart),
    })
    .phases(async ({ atomic, foreign, input, key }) => {
      const of = String(input.cart);
      await atomic('order_created', async (tx) => effect(tx, `${of}:order`));
      const { id } = await foreign('charge_created', provider.call(of, how));
      await atomic('finished', async (tx) => effect(tx, `${of}:finished`));
      return { of: key, charge: id };
    });
  return { idempotency, checkout };
}

/** Its executor has gone, with the call begun and lost. */
async function leave(key: string, options: Partial<Options> = {}): Promise<void> {
  provider.faults = ['before'];
  const told = await shop(options).checkout.execute({ key, payload: { cart }, innerRetries: false });
  expect(told).toMatchObject({ ok: false, executed: 'unknown' });
  expect(await rowOf(key)).toMatchObject({ state: 'in_progress', thing: cart });
  await expire(key);
}

async function expectOnce(): Promise<void> {
  for (const step of ['order', 'finished']) expectCounted(await effects(database.client, `${cart}:${step}`)).toBe(1);
  expectCounted(provider.count(cart)).toBe(1);
}

describe('A6 a second key for a thing, in phases', () => {
  test('A6 it is in_flight while the first runs, and then gets its answer', async () => {
    const second = createClient(database.url);
    const [one, two] = [freshKey(), freshKey()];
    const [charging, charged] = [gate(), gate()];
    provider.onCharge = async () => {
      charging.open();
      await charged.opened;
    };
    const there = shop({}, {}, second).checkout.execute({ key: one, payload: { cart } });
    await charging.opened;
    const { checkout } = shop();
    for (const waitMs of [0, 40]) {
      const told = await checkout.execute({ key: two, payload: { cart }, waitMs, attempt: 1 });
      expect(told).toMatchObject({ code: 'in_flight', retry: 'same-key', executed: 'unknown', key: two });
    }
    expectCounted(await rowsOf(database.client, two)).toEqual([]);
    expect(await checkout.status({ key: one })).toMatchObject({ state: 'in_progress', thing: cart });
    charged.open();
    const first = await there;
    expect(first).toMatchObject({ ok: true, replayed: false });
    const replay = { ...first, replayed: true, nextKey: expect.any(String) };
    expect(await checkout.execute({ key: two, payload: { cart, note: 'edited' }, attempt: 2 })).toEqual(replay);
    await expectOnce();
    await second.$disconnect();
  });

  test('A6 C1 of many keys at once one executes, in two processes', async () => {
    const second = createClient(database.url);
    const shops = [shop(), shop({}, {}, second)];
    const keys = Array.from({ length: 12 }, freshKey);
    const outcomes = await Promise.all(
      keys.map((key, n) => shops[n % 2]?.checkout.execute({ key, payload: { cart } })),
    );
    const done = outcomes.filter((outcome) => outcome?.ok);
    expect(done.filter((outcome) => outcome?.ok && !outcome.replayed)).toHaveLength(1);
    expect(new Set(done.map((outcome) => outcome?.key)).size).toBe(1);
    for (const outcome of outcomes) if (!outcome?.ok) expect(outcome).toMatchObject({ code: 'in_flight' });
    await expectOnce();
    await second.$disconnect();
  });

  test('A6 S3 it drives on the first one, whose executor is gone, and takes its answer', async () => {
    const [one, two] = [freshKey(), freshKey()];
    await leave(one);
    const { checkout } = shop();
    const told = await checkout.execute({ key: two, payload: { cart, note: 'other words' } });
    expect(told).toMatchObject({ ok: true, replayed: true, key: one, data: { of: one } });
    expect(await rowOf(one)).toMatchObject({ state: 'succeeded', thing: cart });
    expectCounted(await rowsOf(database.client, two)).toEqual([]);
    await expectOnce();
  });

  test('A6 the completer finishes the first while the second asks, and the second gets its answer', async () => {
    const [one, two] = [freshKey(), freshKey()];
    await leave(one);
    const [charging, charged] = [gate(), gate()];
    provider.onCharge = async () => {
      charging.open();
      await charged.opened;
    };
    const worker = shop();
    const pass = worker.idempotency.completeDue();
    await charging.opened;
    const { checkout } = shop();
    expect(await checkout.execute({ key: two, payload: { cart } })).toMatchObject({ code: 'in_flight', key: two });
    charged.open();
    await pass;
    expect(await checkout.execute({ key: two, payload: { cart } })).toMatchObject({
      ok: true,
      replayed: true,
      key: one,
    });
    await expectOnce();
  });

  test('A6 S2 a stored refusal frees the thing, whoever stores it, and the next key executes', async () => {
    const [one, two] = [freshKey(), freshKey()];
    provider.faults = ['declined'];
    const { checkout } = shop();
    expect(await checkout.execute({ key: one, payload: { cart } })).toMatchObject({ reason: 'card_declined' });
    expect(await rowOf(one)).toMatchObject({ state: 'failed', thing: null });
    expect(await checkout.status({ key: one })).not.toHaveProperty('thing');
    expect(await checkout.execute({ key: two, payload: { cart } })).toMatchObject({
      ok: true,
      replayed: false,
      key: two,
    });
    expect(await checkout.execute({ key: one, payload: { cart } })).toMatchObject({ reason: 'card_declined' });
  });

  test('A6 S2 a refusal that the second key itself has driven on to frees it for its retry', async () => {
    const [one, two] = [freshKey(), freshKey()];
    await leave(one);
    provider.faults = ['declined'];
    const { checkout } = shop();
    expect(await checkout.execute({ key: two, payload: { cart } })).toMatchObject({ code: 'in_flight', key: two });
    expect(await rowOf(one)).toMatchObject({ state: 'failed', thing: null });
    // Its own order of this cart is another one.
    await database.client.auditRecord.deleteMany({ where: { action: `${cart}:order` } });
    expect(await checkout.execute({ key: two, payload: { cart } })).toMatchObject({ ok: true, replayed: false });
    await expectOnce();
  });

  test('A6 S4 outcome_unknown where the first one’s is unknown; a person’s "failed" frees the thing', async () => {
    const [one, two] = [freshKey(), freshKey()];
    provider.faults = ['after'];
    const how = { indeterminate: 'unknown' } as const;
    const { checkout, idempotency } = shop({}, how);
    expect(await checkout.execute({ key: one, payload: { cart } })).toMatchObject({ code: 'outcome_unknown' });
    expect(await rowOf(one)).toMatchObject({ state: 'unknown', thing: cart });
    const told = await checkout.execute({ key: two, payload: { cart }, attempt: 1 });
    expect(told).toMatchObject({ code: 'outcome_unknown', retry: 'same-key', key: two });
    const { prismaStore } = await import('../../store/prisma/store.ts');
    const store = prismaStore(database.client);
    const row = await rowOf(one);
    const seen = { ...ANN, operation: 'pay', key: one, fencingToken: row?.fencingToken ?? 0 };
    expect(await store.recordVerdict(seen, { kind: 'failed' }, 'eve')).toBe(true);
    await idempotency.completeKey(seen);
    expect(await rowOf(one)).toMatchObject({ state: 'failed', thing: null });
    expect(await checkout.execute({ key: two, payload: { cart } })).toMatchObject({ ok: true, replayed: false });
  });

  test('X1 A6 somebody else’s: in_flight while it runs, which is not driven on, and already_done once it is', async () => {
    const [one, two] = [freshKey(), freshKey()];
    await leave(one, { secret: [SECRET] });
    const bobs = shop({ secret: [SECRET], scope: () => BOB }).checkout;
    const running = await bobs.execute({ key: two, payload: { cart } });
    expect(running).toMatchObject({ code: 'in_flight', key: two });
    expect(await rowOf(one)).toMatchObject({ state: 'in_progress' });
    await shop({ secret: [SECRET] }).idempotency.completeDue();
    const told = await bobs.execute({ key: two, payload: { cart } });
    expect(told).toMatchObject({ code: 'already_done', executed: true, retry: 'never', key: two });
    expect(JSON.stringify([running, told])).not.toContain(one);
    await expectOnce();
  });

  test('A6 an executor whose deploy no longer says oncePer still frees the thing with its refusal', async () => {
    const one = freshKey();
    await leave(one);
    const newer = kit(database.client);
    newer.operation({ name: 'pay', schema: anything }).phases(async ({ atomic, foreign, fail }) => {
      await atomic('order_created', async () => {});
      await foreign('charge_created', provider.call(cart));
      fail('gone');
    });
    await newer.completeDue();
    expect(await rowOf(one)).toMatchObject({ state: 'failed', thing: null });
  });
});
