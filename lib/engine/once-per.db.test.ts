import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { createClient } from '../../shop/db.ts';
import type { Principal } from '../index.ts';
import {
  ANN,
  anything,
  BOB,
  effect,
  effects,
  freshKey,
  gate,
  HOUR,
  kit,
  rowsOf,
  SECRET,
  stopping,
  type Tx,
  watchOf,
} from '../integration/kit.fixture.ts';
import type { HandlerContext } from './handler.ts';

/** `oncePer` in one transaction: which of two keys executes, and what the other one is told. */

type Kit = ReturnType<typeof kit>;
type Handle = (context: HandlerContext<Record<string, unknown>, Tx>) => Promise<unknown>;

let database: TestDatabase;
let second: TestDatabase['client'];
let watch: Awaited<ReturnType<typeof watchOf>>;
beforeAll(async () => {
  database = await testDatabase();
  second = createClient(database.url);
  watch = await watchOf(database.url);
});
afterAll(async () => {
  await watch?.close();
  await second?.$disconnect();
  await database?.drop();
});

let carts = 0;
const freshCart = () => `cart-${++carts}`;

/** An order of a cart, once per cart. */
function define(on: Kit, more: Record<string, unknown> = {}, handle?: Handle) {
  return on
    .operation({
      name: 'order',
      schema: anything,
      timeoutMs: 20_000,
      maxWaitMs: 20_000,
      oncePer: ({ input }) => String(input.cart),
      ...more,
    })
    .handler(
      handle ??
        (async ({ tx, input, key, fail }) => {
          await effect(tx, String(input.cart));
          if (input.refuse) fail('sold_out', { left: 0 });
          return { of: key };
        }),
    );
}
const once = (more?: Record<string, unknown>) => define(kit(database.client), more);

describe('A6 the second key for a thing', () => {
  test('A6 it executes nothing and gets the first one’s answer for the same values, in this process and in others', async () => {
    const cart = freshCart();
    const keys = [freshKey(), freshKey(), freshKey()] as const;
    const order = once();
    const first = await order.execute({ key: keys[0], payload: { cart } });
    expect(first).toMatchObject({ ok: true, replayed: false, key: keys[0], data: { of: keys[0] } });
    const replay = { ok: true, replayed: true, key: keys[0], data: { of: keys[0] } };
    expect(await order.execute({ key: keys[1], payload: { cart } })).toMatchObject(replay);
    expect(await once().execute({ key: keys[2], payload: { cart }, attempt: 2 })).toMatchObject(replay);
    expectCounted(await effects(database.client, cart)).toBe(1);
    for (const key of keys.slice(1)) expectCounted(await rowsOf(database.client, key)).toEqual([]);
    expectCounted(await rowsOf(database.client, keys[0])).toMatchObject([{ thing: cart }]);
  });

  test('A6 H3 with other values it is a mismatch with the first one’s key, and nothing of the answer', async () => {
    const cart = freshCart();
    const [one, two] = [freshKey(), freshKey()];
    await once().execute({ key: one, payload: { cart } });
    const told = await once().execute({ key: two, payload: { cart, note: 'edited' }, attempt: 1 });
    expect(told).toMatchObject({ code: 'payload_mismatch', retry: 'never', executed: true, key: one });
    expect(told).not.toHaveProperty('data');
    expectCounted(await effects(database.client, cart)).toBe(1);
    const events = await database.client.idempotencyEvent.findMany({ where: { key: { in: [one, two] } } });
    expect(events.map(({ key, type }) => [key, type])).toEqual([
      [one, 'followed'],
      [two, 'answered_by'],
      [one, 'payload_mismatch'],
    ]);
    // Under that key the form is told what counts.
    expect(await once().status({ key: one })).toMatchObject({ state: 'succeeded', outcome: { data: { of: one } } });
  });

  test('A6 where oncePer names nothing, each key is an intent of its own', async () => {
    const cart = freshCart();
    const order = once({ oncePer: ({ input }: { input: { gift?: boolean } }) => (input.gift ? undefined : cart) });
    const keys = [freshKey(), freshKey(), freshKey()] as const;
    await order.execute({ key: keys[0], payload: { cart } });
    for (const key of keys.slice(1)) {
      expect(await order.execute({ key, payload: { cart, gift: true } })).toMatchObject({ replayed: false, key });
    }
    expectCounted(await effects(database.client, cart)).toBe(3);
    expectCounted(await rowsOf(database.client, keys[1])).toMatchObject([{ thing: null }]);
  });

  test('A6 its status is that of its own key, and names the first one, which says the thing', async () => {
    const cart = freshCart();
    const [one, two] = [freshKey(), freshKey()];
    const order = once();
    await order.execute({ key: one, payload: { cart } });
    await order.execute({ key: two, payload: { cart } });
    expect(await order.status({ key: one })).toMatchObject({ state: 'succeeded', thing: cart });
    const status = await order.status({ key: two });
    expect(status).toMatchObject({ state: 'absent', by: one });
    expect(status).not.toHaveProperty('thing');
    expect(await order.status({ key: freshKey() })).not.toHaveProperty('by');
    // Once it has a row of its own, that one counts.
    await order.execute({ key: two, payload: { cart: freshCart() } });
    expect(await order.status({ key: two })).not.toHaveProperty('by');
  });

  test('A6 S5 to give its key up changes nothing of the first one', async () => {
    const cart = freshCart();
    const [one, two] = [freshKey(), freshKey()];
    const order = once({ acceptKeys: 'any' });
    await order.execute({ key: one, payload: { cart } });
    await order.execute({ key: two, payload: { cart } });
    const before = await rowsOf(database.client, one);
    expect(await order.fence({ key: two })).toMatchObject({ fenced: true });
    expect(await order.execute({ key: two, payload: { cart } })).toMatchObject({ code: 'key_abandoned' });
    expectCounted(await rowsOf(database.client, one)).toEqual(before);
    expect(await order.execute({ key: freshKey(), payload: { cart } })).toMatchObject({ replayed: true, key: one });
  });

  test('A6 no handler may refuse in a person’s words, which free a thing of which nobody knows', async () => {
    const errors: unknown[] = [];
    const engine = kit(database.client, { onError: (error) => void errors.push(error) });
    const order = define(engine, {}, async ({ fail }) => fail('marked_failed'));
    const key = freshKey();
    expect(await order.execute({ key, payload: { cart: freshCart() } })).toMatchObject({ code: 'internal' });
    expect(errors).toMatchObject([{ name: 'ConfigurationError', expected: expect.stringContaining('marked_failed') }]);
    expectCounted(await rowsOf(database.client, key)).toEqual([]);
  });

  test('A6 its key can be sent for another thing afterwards, and then for no other', async () => {
    const [cart, other] = [freshCart(), freshCart()];
    const key = freshKey();
    const order = once();
    await order.execute({ key: freshKey(), payload: { cart } });
    await order.execute({ key, payload: { cart } });
    expect(await order.execute({ key, payload: { cart: other } })).toMatchObject({ ok: true, replayed: false, key });
    expect(await order.execute({ key, payload: { cart } })).toMatchObject({ code: 'payload_mismatch', executed: true });
    expectCounted([await effects(database.client, cart), await effects(database.client, other)]).toEqual([1, 1]);
  });

  test('A6 a refusal and a rollback free the thing; a second key then executes', async () => {
    const cart = freshCart();
    const order = once();
    const refused = freshKey();
    expect(await order.execute({ key: refused, payload: { cart, refuse: true } })).toMatchObject({ code: 'failed' });
    expectCounted(await rowsOf(database.client, refused)).toMatchObject([{ state: 'failed', thing: null }]);
    const thrown = define(kit(database.client), { name: 'throws' }, async () => {
      throw new Error('no');
    });
    for (let n = 0; n < 2; n++) {
      expect(await thrown.execute({ key: freshKey(), payload: { cart } })).toMatchObject({ code: 'internal' });
    }
    expect(await order.execute({ key: freshKey(), payload: { cart } })).toMatchObject({ ok: true, replayed: false });
    // The refused key keeps its refusal.
    expect(await order.execute({ key: refused, payload: { cart, refuse: true } })).toMatchObject({ code: 'failed' });
  });

  test('O3 X1 `admit` is asked before it is told of the thing, and not again for a key that has its answer', async () => {
    const cart = freshCart();
    const asked: string[] = [];
    const order = once({ admit: ({ key }: { key: string }) => asked.push(key) > 0 });
    const [one, two] = [freshKey(), freshKey()];
    await order.execute({ key: one, payload: { cart } });
    expect(await order.execute({ key: two, payload: { cart } })).toMatchObject({ replayed: true, key: one });
    await order.execute({ key: one, payload: { cart }, attempt: 2 });
    expect(asked).toEqual([one, two]);
  });

  test('O3 X1 whom `admit` calls unauthorized learns nothing of the thing, and nothing is stored', async () => {
    const cart = freshCart();
    let says: true | 'unauthorized' = 'unauthorized';
    const order = once({ admit: async () => says });
    const refused = { code: 'unauthorized', retry: 'same-key', executed: false };
    const [key, other] = [freshKey(), freshKey()];
    const call = { key, payload: { cart }, attempt: 1 };
    expect(await order.execute(call)).toMatchObject({ ...refused, key });
    expectCounted(await rowsOf(database.client, key)).toEqual([]);
    says = true;
    expect(await order.execute(call)).toMatchObject({ ok: true, replayed: false });
    says = 'unauthorized';
    for (const note of ['', 'edited']) {
      const told = await order.execute({ ...call, key: other, payload: note ? { cart, note } : { cart } });
      expect(told).toMatchObject({ ...refused, key: other });
      expect(JSON.stringify(told)).not.toContain(key);
    }
    expect(await order.execute({ ...call, attempt: 2 })).toMatchObject({ ok: true, replayed: true });
  });

  test('K5 A6 holdFor keeps the row, and less than the retention changes nothing', async () => {
    const kept = async (holdFor?: number) => {
      const key = freshKey();
      await once(holdFor === undefined ? {} : { holdFor }).execute({ key, payload: { cart: freshCart() } });
      const [row] = await rowsOf(database.client, key);
      return Math.round(((row?.expiresAt.getTime() ?? 0) - (row?.claimedAt.getTime() ?? 0)) / HOUR);
    };
    expect([await kept(), await kept(1000), await kept(30 * 24 * HOUR)]).toEqual([25, 25, 720]);
  });

  describe('A6 X1 held for ever, once its key is gone', () => {
    const forever = { holdFor: 'forever' };
    async function doneForEver(): Promise<{ cart: string; first: string }> {
      const [cart, first] = [freshCart(), freshKey()];
      expect(await once(forever).execute({ key: first, payload: { cart } })).toMatchObject({ ok: true });
      await database.client.idempotencyKey.deleteMany({ where: { key: first } });
      return { cart, first };
    }

    test.each([
      ['claimed at once', { attempt: 1 }, {}],
      ['looked for before', { attempt: 2 }, {}],
      ['once it is admitted', { attempt: 1 }, { admit: () => true }],
    ] as const)('A6 X1 it is already_done for everybody, without data: %s', async (_, request, options) => {
      const { cart, first } = await doneForEver();
      const order = once({ ...forever, ...options });
      for (const key of [freshKey(), first]) {
        const told = await order.execute({ key, payload: { cart }, ...request });
        expect(told).toMatchObject({ ok: false, code: 'already_done', executed: true, retry: 'never', key });
        expect(told).not.toHaveProperty('data');
        expectCounted(await rowsOf(database.client, key)).toEqual([]);
      }
      expectCounted(await effects(database.client, cart)).toBe(1);
    });

    test('O3 X1 nothing is told of it to whom `admit` refuses', async () => {
      const { cart } = await doneForEver();
      const order = once({ ...forever, admit: () => 'unauthorized' });
      const told = await order.execute({ key: freshKey(), payload: { cart }, attempt: 1 });
      expect(told).toMatchObject({ code: 'unauthorized', executed: false });
    });

    test('A6 C2 a call with other values that has joined it tries by itself, for it may name another thing', async () => {
      const { cart } = await doneForEver();
      const [key, other, order] = [freshKey(), freshCart(), once(forever)];
      const told = await Promise.all([cart, other].map((each) => order.execute({ key, payload: { cart: each } })));
      expect(told).toMatchObject([{ code: 'already_done' }, { ok: true, replayed: false }]);
      expectCounted(await effects(database.client, other)).toBe(1);
    });
  });

  test('R3 an answer that cannot be read is not made again by another key, also where that would do no harm', async () => {
    const cart = freshCart();
    const first = freshKey();
    await once().execute({ key: first, payload: { cart } });
    const newer = once({ schemaVersion: 2, naturallyIdempotent: true });
    const other = freshKey();
    expect(await newer.execute({ key: other, payload: { cart } })).toMatchObject({
      code: 'result_unreadable',
      executed: true,
      key: first,
    });
    expectCounted(await effects(database.client, cart)).toBe(1);
    expect(await newer.execute({ key: first, payload: { cart } })).toMatchObject({ ok: true, key: first });
    expect(await newer.execute({ key: other, payload: { cart } })).toMatchObject({ ok: true, key: first });
  });
});

describe('X1 A6 whose answer it is', () => {
  const as = (who: Principal) => define(kit(database.client, { scope: () => who, secret: [SECRET] }));

  test('X1 of somebody else it is told that it is done, and nothing more', async () => {
    const cart = freshCart();
    const first = freshKey();
    const annsOrder = as(ANN);
    await annsOrder.execute({ key: first, payload: { cart } });
    const key = freshKey();
    const told = await as(BOB).execute({ key, payload: { cart } });
    expect(told).toMatchObject({ ok: false, code: 'already_done', retry: 'never', executed: true, key });
    expect(JSON.stringify(told)).not.toContain(first);
    expect(await as(BOB).status({ key })).not.toHaveProperty('by');
    expectCounted(await effects(database.client, cart)).toBe(1);
    // Another company has carts of its own.
    expect(await as({ ...BOB, tenant: 'other' }).execute({ key, payload: { cart } })).toMatchObject({
      replayed: false,
    });
  });

  test('X1 A6 with shareAnswer everybody gets it for the same values, under a key of their own', async () => {
    const cart = freshCart();
    const shared = (who: Principal) =>
      define(kit(database.client, { scope: () => who, secret: [SECRET] }), { shareAnswer: true });
    const [first, key] = [freshKey(), freshKey()];
    await shared(ANN).execute({ key: first, payload: { cart } });
    const told = await shared(BOB).execute({ key, payload: { cart } });
    expect(told).toMatchObject({ ok: true, replayed: true, key, data: { of: first } });
    const edited = await shared(BOB).execute({ key, payload: { cart, note: 'edited' } });
    expect(edited).toMatchObject({ code: 'already_done', executed: true, key });
    expect(JSON.stringify(edited)).not.toContain(first);
    expect(await shared(ANN).execute({ key, payload: { cart, note: 'edited' } })).toMatchObject({
      code: 'payload_mismatch',
      key: first,
    });
    expectCounted(await effects(database.client, cart)).toBe(1);
  });

  test('K2 X1 under an alias it is the caller’s own; once they have signed out it is not', async () => {
    const cart = freshCart();
    const anonymous: Principal = { tenant: 'acme', principal: 'anon-1' };
    const first = await as(anonymous).execute({ key: freshKey(), payload: { cart } });
    const signedIn = as({ ...ANN, aliases: ['anon-1'] });
    const key = freshKey();
    expect(await signedIn.execute({ key, payload: { cart } })).toMatchObject({
      ok: true,
      replayed: true,
      key: first.key,
    });
    expect(await signedIn.status({ key })).toMatchObject({ state: 'absent', by: first.key });
    expect(await as(anonymous).status({ key })).not.toHaveProperty('by');
    const own = freshCart();
    await signedIn.execute({ key: freshKey(), payload: { cart: own } });
    const told = await as(anonymous).execute({ key: freshKey(), payload: { cart: own } });
    expect(told).toMatchObject({ code: 'already_done' });
  });

  test('X1 two calls of one key, by the person and under an alias, are each told by their own names', async () => {
    const cart = freshCart();
    await as(BOB).execute({ key: freshKey(), payload: { cart } });
    const engine = kit(database.client, { scope: () => null, secret: [SECRET] });
    const order = define(engine);
    const key = freshKey();
    const calls = [ANN, { ...ANN, aliases: ['bob'] }].map((scope) => order.execute({ key, scope, payload: { cart } }));
    expect(await Promise.all(calls)).toMatchObject([{ code: 'already_done' }, { ok: true, replayed: true }]);
  });

  test('A6 with the principal in its name, each person does it once', async () => {
    const poll = freshCart();
    const vote = (who: Principal) =>
      once({ oncePer: ({ scope }: { scope: { principal: string } }) => `${scope.principal} ${poll}` }).execute({
        key: freshKey(),
        scope: who,
        payload: { cart: poll },
      });
    expect(await vote(ANN)).toMatchObject({ replayed: false });
    expect(await vote(BOB)).toMatchObject({ replayed: false });
    expect(await vote(ANN)).toMatchObject({ ok: true, replayed: true });
  });
});

describe('C3 A6 while the first key runs', () => {
  let end: ((how: 'commit' | 'roll back') => void) | undefined;
  afterEach(() => end?.('roll back'));

  /** A first key that runs in another process, until it is told how to end. */
  async function running(cart: string) {
    const held = stopping();
    const first = freshKey();
    const there = define(kit(second), {}, held.handle as never).execute({ key: first, payload: { cart } });
    end = (how) => held.end.open(how);
    await held.started.opened;
    return { first, there, held, here: define(kit(database.client), {}, held.handle as never) };
  }

  test('C3 within waitMs it is in_flight under its own key, by a refusal that a retry may follow', async () => {
    const cart = freshCart();
    const { first, there, held, here } = await running(cart);
    const key = freshKey();
    for (const waitMs of [0, 40]) {
      expect(await here.execute({ key, payload: { cart }, waitMs })).toMatchObject({
        code: 'in_flight',
        retry: 'same-key',
        executed: 'unknown',
        key,
      });
    }
    held.end.open('commit');
    await there;
    expect(await here.execute({ key, payload: { cart }, attempt: 2 })).toMatchObject({
      ok: true,
      replayed: true,
      key: first,
    });
    expectCounted(held.runs()).toBe(1);
  });

  test.each([
    ['commits, the waiting one replays it', 'commit', { replayed: true, data: { run: 1 } }, 1],
    ['rolls back, the waiting one executes', 'roll back', { replayed: false, data: { run: 2 } }, 2],
  ] as const)('C3 when it %s', async (_, how, answer, times) => {
    const cart = freshCart();
    const { there, held, here } = await running(cart);
    const waiting = here.execute({ key: freshKey(), payload: { cart } });
    await watch.untilWaiting(1);
    held.end.open(how);
    await there;
    expect(await waiting).toMatchObject({ ok: true, ...answer });
    expectCounted(held.runs()).toBe(times);
  });

  test('C2 A6 those who follow the second key in its process get the same, and one connection waits', async () => {
    const cart = freshCart();
    const { first, there, held, here } = await running(cart);
    const key = freshKey();
    const calls = [{ cart }, { cart }, { cart, note: 'edited' }].map((payload) => here.execute({ key, payload }));
    await watch.untilWaiting(1);
    expect(await watch.waiting()).toBe(1);
    held.end.open('commit');
    await there;
    const replay = { ok: true, replayed: true, key: first };
    expect(await Promise.all(calls)).toMatchObject([replay, replay, { code: 'payload_mismatch', key: first }]);
  });

  test('C2 A6 with another thing a call that follows the second key is not answered for that one', async () => {
    const [cart, other] = [freshCart(), freshCart()];
    const { first, there, held, here } = await running(cart);
    const key = freshKey();
    const [second, ...following] = [cart, other, other].map((of) => here.execute({ key, payload: { cart: of } }));
    await watch.untilWaiting(1);
    held.end.open('commit');
    await there;
    expect(await second).toMatchObject({ ok: true, replayed: true, key: first, data: { run: 1 } });
    const own = { ok: true, key, data: { run: 2 } };
    const told = await Promise.all(following);
    expect(told).toMatchObject([own, own]);
    expect(told.map((outcome) => outcome.ok && outcome.replayed).sort()).toEqual([false, true]);
    expectCounted([held.runs(), await effects(database.client, key)]).toEqual([2, 1]);
    expectCounted(await rowsOf(database.client, key)).toMatchObject([{ thing: other }]);
  });

  test.each([2, 50])('C1 A6 of %i keys for one thing in two processes one executes', async (length) => {
    const cart = freshCart();
    const orders = [once(), define(kit(second))];
    const keys = Array.from({ length }, freshKey);
    const calls = keys.map((key, n) => orders[n % 2]?.execute({ key, payload: { cart } }));
    const outcomes = await Promise.all(calls);
    const [winner, ...rest] = outcomes.filter((outcome) => outcome?.ok && !outcome.replayed);
    expect(rest).toEqual([]);
    for (const outcome of outcomes) {
      if (outcome?.ok) expect(outcome.key).toBe(winner?.key);
      else expect(outcome).toMatchObject({ code: 'in_flight' });
    }
    expectCounted(await effects(database.client, cart)).toBe(1);
  });

  test('A6 C4 two keys whose things cross end, and each thing is done once', async () => {
    // Each handler goes on once the other one's has begun, with two more keys behind them.
    const [a, b] = [freshCart(), freshCart()];
    const begun = { [a]: gate(), [b]: gate() };
    const order = define(kit(database.client), {}, async ({ input, tx, key }) => {
      const { cart, other } = input as { cart: string; other: string };
      await effect(tx, cart);
      begun[cart]?.open();
      await begun[other]?.opened;
      return { of: key };
    });
    const both = [
      [a, b],
      [b, a],
    ].flatMap(([cart, other]) => [1, 2].map(() => order.execute({ key: freshKey(), payload: { cart, other } })));
    const outcomes = await Promise.all(both);
    for (const outcome of outcomes) expect(outcome).toMatchObject({ ok: true });
    expect(outcomes.filter((outcome) => outcome.ok && !outcome.replayed)).toHaveLength(2);
    expectCounted([await effects(database.client, a), await effects(database.client, b)]).toEqual([1, 1]);
  });
});

describe('a thing that is none', () => {
  test.each([
    ['empty', ''],
    ['too long', 'x'.repeat(256)],
    ['with NUL', 'a\0b'],
    ['ill-formed', 'a\ud800'],
    ['no string', null],
    ['a promise', Promise.resolve('cart')],
  ])('%s is a ConfigurationError, and nothing is executed', async (_, thing) => {
    const key = freshKey();
    const order = once({ oncePer: () => thing });
    await expect(order.execute({ key, payload: { cart: key } })).rejects.toMatchObject({
      name: 'ConfigurationError',
      existing: expect.anything(),
      expected: expect.stringContaining('1 to 255 characters'),
    });
    expectCounted([await effects(database.client, key), (await rowsOf(database.client, key)).length]).toEqual([0, 0]);
  });

  test('255 characters fit, however many bytes they are', async () => {
    const thing = '🛒'.repeat(255);
    const order = once({ oncePer: () => thing });
    const payload = { cart: freshCart() };
    const first = await order.execute({ key: freshKey(), payload });
    expect(first).toMatchObject({ ok: true, replayed: false });
    expect(await order.execute({ key: freshKey(), payload })).toMatchObject({
      replayed: true,
      key: first.key,
    });
  });

  test('shareAnswer without oncePer is refused at set-up', () => {
    expect(() => once({ shareAnswer: true, oncePer: undefined })).toThrow(/shareAnswer of order is about no thing/);
  });

  test('what oncePer throws executes nothing', async () => {
    const order = once({
      oncePer: () => {
        throw new Error('no cart');
      },
    });
    const outcome = await order.execute({ key: freshKey(), payload: {}, attempt: 1 });
    expect(outcome).toMatchObject({ code: 'internal', executed: false });
  });

  test.each([
    [{ holdFor: 1000, oncePer: undefined }],
    [{ holdFor: 'forever', oncePer: undefined }],
    [{ holdFor: 0 }],
    [{ holdFor: Number.NaN }],
    [{ holdFor: '1000' }],
  ])('holdFor that means nothing is refused at set-up: %j', (more) => {
    expect(() => once(more)).toThrow(/holdFor of order cannot be used/);
  });

  test('holdFor of more than 100 years is refused at set-up; of 100 years it is stored', async () => {
    const century = 100 * 365 * 24 * HOUR;
    for (const holdFor of [century + 1, Number.MAX_SAFE_INTEGER]) {
      expect(() => once({ holdFor })).toThrow(
        expect.objectContaining({ existing: holdFor, expected: expect.stringContaining('100 years') }),
      );
    }
    const key = freshKey();
    const order = once({ holdFor: century });
    expect(await order.execute({ key, payload: { cart: freshCart() } })).toMatchObject({ ok: true, replayed: false });
    const [row] = await rowsOf(database.client, key);
    expect(row?.expiresAt.getTime()).toBeGreaterThan(Date.now() + century - HOUR);
  });
});
