import pg from 'pg';
import { beforeEach, describe, expect, test } from 'vitest';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import { createClient } from '../../../shop/db.ts';
import { createAdmin } from '../../admin/index.ts';
import type { Options } from '../../index.ts';
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
  type Tx,
} from '../../integration/kit.fixture.ts';
import { prismaStore } from '../../store/prisma/store.ts';
import type { NamedKeyState } from './lost-key.ts';
import {
  type Call,
  database,
  expire,
  lose,
  provider,
  rowOf,
  seenCall,
  untilLocked,
  usePhases,
} from './shop.fixture.ts';

type LostKeyState = Extract<NamedKeyState, { kind: 'lost' }>;

/** `oncePer` in phases: the first key holds its thing from its claim on, whoever drives it to its end. */

usePhases();

let cart: string;
let carts = 0;
beforeEach(() => {
  cart = `cart-of-phases-${++carts}`;
});

/** A checkout that is done once per cart: an order, a charge, and the end. */
function shop(
  options: Partial<Options> = {},
  how: Partial<Call> = {},
  on = database.client,
  {
    onOrder,
    ...more
  }: {
    onOrder?: (tx: Tx) => Promise<void>;
    holdFor?: number | 'forever';
    admit?: () => 'unauthorized';
    shareAnswer?: boolean;
  } = {},
) {
  const idempotency = kit(on, options);
  const checkout = idempotency
    .operation({
      name: 'pay',
      schema: anything,
      maxWaitMs: 20_000,
      timeoutMs: 20_000,
      oncePer: ({ input }) => String(input.cart),
      ...more,
    })
    .phases(async ({ atomic, foreign, input, key }) => {
      const of = String(input.cart);
      await atomic('order_created', async (tx) => {
        await onOrder?.(tx);
        await effect(tx, `${of}:order`);
      });
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
    expect(await checkout.status({ key: two })).toMatchObject({ state: 'absent', by: one });
    expect(await checkout.status({ key: one })).toMatchObject({ state: 'in_progress', thing: cart });
    charged.open();
    const first = await there;
    expect(first).toMatchObject({ ok: true, replayed: false });
    const replay = { ...first, replayed: true, nextKey: expect.any(String) };
    expect(await checkout.execute({ key: two, payload: { cart }, attempt: 2 })).toEqual(replay);
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
    // With what is stored of it, whatever the second key says; and what that says then counts for nothing.
    const mismatch = await checkout.execute({ key: two, payload: { cart, note: 'other words' } });
    expect(mismatch).toMatchObject({ code: 'payload_mismatch', executed: true, key: one });
    expect(mismatch).not.toHaveProperty('data');
    const told = await checkout.execute({ key: two, payload: { cart } });
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
    const store = prismaStore(database.client);
    const seen = await seenCall(one);
    expect(await store.recordVerdict(seen, { kind: 'failed' }, 'eve')).toBe('recorded');
    await idempotency.completeKey(seen);
    expect(await rowOf(one)).toMatchObject({ state: 'failed', thing: null });
    expect(await checkout.execute({ key: two, payload: { cart } })).toMatchObject({ ok: true, replayed: false });
  });

  test.each([
    ['is held again', 'by a proof', false],
    ['is held again', 'by the call’s late result', false],
    ['stays with who holds it since', 'by a proof', true],
  ])('A6 S4 what is proven behind that "failed" contradicts it, and the thing %s: %s', async (_, how, isTaken) => {
    const [one, two] = [freshKey(), freshKey()];
    provider.faults = ['after'];
    const holdFor = how === 'by a proof' ? HOUR : 'forever';
    const { checkout, idempotency } = shop({}, { indeterminate: 'unknown' }, database.client, { holdFor });
    await checkout.execute({ key: one, payload: { cart } });
    const seen = await seenCall(one);
    await createAdmin({ prisma: database.client, complete: idempotency.completeKey }).resolve(
      seen,
      { kind: 'failed' },
      'eve',
    );
    expect(await rowOf(one)).toMatchObject({ state: 'failed', thing: null });
    if (isTaken) expect(await checkout.execute({ key: two, payload: { cart } })).toMatchObject({ ok: true });
    const late = { step: 'charge_created', isResult: true };
    const proof = { said: 'paid', step: 'charge_created', succeeded: 'ch_1' };
    const prove = () => database.client.$transaction((tx) => idempotency.recordEvidence(tx, seen, proof, 'bank'));
    if (how === 'by a proof') expect([await prove(), await prove()]).toEqual(['contradicts', 'contradicts']);
    else await prismaStore(database.client).recordLateAnswer(seen, { ...late, token: 1 });
    expect(await rowOf(one)).toMatchObject({ state: 'failed', needsAttention: true, thing: isTaken ? null : cart });
    if (isTaken) expect([await rowOf(two), provider.sends]).toMatchObject([{ thing: cart }, 2]);
    else {
      const told = await checkout.execute({ key: two, payload: { cart } });
      expect(told).toMatchObject({ reason: 'marked_failed', executed: 'unknown', replayed: true });
      const bobs = await shop({ scope: () => BOB }).checkout.execute({ key: freshKey(), payload: { cart } });
      expect(bobs).toMatchObject({ code: 'already_done', executed: 'unknown' });
      expectCounted(provider.sends).toBe(1);
      await lose(one);
      const later = await checkout.execute({ key: freshKey(), payload: { cart } });
      expect(!later.ok && later.code === 'already_done').toBe(holdFor === 'forever');
    }
  });

  test('A6 S4 what another key held when the proof came is held by a repeated proof, once that key has let it go', async () => {
    const [one, two] = [freshKey(), freshKey()];
    provider.faults = ['after', 'before'];
    const { checkout, idempotency } = shop({}, { indeterminate: 'unknown' });
    const admin = createAdmin({ prisma: database.client, complete: idempotency.completeKey });
    const fail = async (key: string) => await admin.resolve(await seenCall(key), { kind: 'failed' }, 'eve');
    const proof = { said: 'paid', step: 'charge_created', succeeded: 'ch_1' };
    const prove = async () =>
      await database.client.$transaction((tx) =>
        idempotency.recordEvidence(tx, { ...ANN, operation: 'pay', key: one }, proof, 'bank'),
      );
    await checkout.execute({ key: one, payload: { cart } });
    await fail(one);
    await checkout.execute({ key: two, payload: { cart } });
    expect([await prove(), (await rowOf(one))?.thing, (await rowOf(two))?.thing]).toEqual(['contradicts', null, cart]);
    await fail(two);
    expect([await prove(), (await rowOf(one))?.thing]).toEqual(['contradicts', cart]);
    expect(await checkout.execute({ key: freshKey(), payload: { cart } })).toMatchObject({ reason: 'marked_failed' });
    expectCounted(provider.count(cart)).toBe(1);
  });

  test('A6 S4 the late result and the thing that it takes again are one commit', async () => {
    const key = freshKey();
    provider.faults = ['after'];
    const { checkout, idempotency } = shop({}, { indeterminate: 'unknown' });
    await checkout.execute({ key, payload: { cart } });
    const seen = await seenCall(key);
    const admin = createAdmin({ prisma: database.client, complete: idempotency.completeKey });
    await admin.resolve(seen, { kind: 'failed' }, 'eve');
    const other = new pg.Client({ connectionString: database.url });
    await other.connect();
    await other.query('BEGIN');
    await other.query(`INSERT INTO idempotency_things VALUES ('acme', 'pay', $1)`, [cart]);
    const told = prismaStore(database.client).recordLateAnswer(seen, {
      step: 'charge_created',
      token: 1,
      isResult: true,
    });
    await untilLocked(other, 1);
    expect(await rowOf(key)).toMatchObject({ needsAttention: false, thing: null });
    await other.query('ROLLBACK');
    await other.end();
    await told;
    expect(await rowOf(key)).toMatchObject({ needsAttention: true, thing: cart });
  });

  test('the name of a thing that was freed goes when its person is erased, once nobody has to look', async () => {
    const key = freshKey();
    provider.faults = ['after'];
    const { checkout, idempotency } = shop({}, { indeterminate: 'unknown' });
    const admin = createAdmin({ prisma: database.client, complete: idempotency.completeKey });
    await checkout.execute({ key, payload: { cart } });
    await admin.resolve(await seenCall(key), { kind: 'failed' }, 'eve');
    const freed = () => database.client.idempotencyEvent.count({ where: { key, type: 'thing_freed' } });
    await database.client.$executeRaw`UPDATE idempotency_keys SET needs_attention = true WHERE key = ${key}`;
    await admin.erasePrincipal(ANN, 'eve');
    expectCounted(await freed()).toBe(1);
    await database.client.$executeRaw`UPDATE idempotency_keys SET needs_attention = false WHERE key = ${key}`;
    await admin.erasePrincipal(ANN, 'eve');
    expectCounted(await freed()).toBe(0);
    const about = await database.client.$queryRaw<unknown[]>`SELECT detail FROM idempotency_events WHERE key = ${key}`;
    expect(JSON.stringify(about)).not.toContain(cart);
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

  test('O3 X1 whom `admit` calls unauthorized drives nothing on, and is told nothing of it', async () => {
    const [one, two] = [freshKey(), freshKey()];
    await leave(one);
    const { checkout } = shop({}, {}, database.client, { admit: () => 'unauthorized' });
    const told = await checkout.execute({ key: two, payload: { cart }, attempt: 1 });
    expect(told).toMatchObject({ code: 'unauthorized', executed: false, key: two });
    expect(await rowOf(one)).toMatchObject({ state: 'in_progress' });
    // A duplicate of the first one is no new key.
    expect(await checkout.execute({ key: one, payload: { cart } })).toMatchObject({ ok: true, key: one });
  });

  test('X1 A6 with shareAnswer nobody drives on somebody else’s, and gets its answer once there is one', async () => {
    const [one, two] = [freshKey(), freshKey()];
    await leave(one, { secret: [SECRET] });
    const shared = { shareAnswer: true };
    const bobs = shop({ secret: [SECRET], scope: () => BOB }, {}, database.client, shared).checkout;
    expect(await bobs.execute({ key: two, payload: { cart } })).toMatchObject({ code: 'in_flight', key: two });
    expect(await rowOf(one)).toMatchObject({ state: 'in_progress' });
    await shop({ secret: [SECRET] }).idempotency.completeDue();
    expect(await bobs.execute({ key: two, payload: { cart } })).toMatchObject({
      ok: true,
      replayed: true,
      key: two,
      data: { of: one },
    });
    await expectOnce();
  });

  test.each([
    ['still frees the thing with a refusal of which nothing was done', ['declined'], false],
    ['still holds it with one that says that something was done', [], true],
  ] as const)('A6 an executor whose deploy no longer says oncePer %s', async (_, faults, isHeld) => {
    const [one, two] = [freshKey(), freshKey()];
    await leave(one);
    provider.faults = [...faults];
    const newer = kit(database.client);
    newer.operation({ name: 'pay', schema: anything }).phases(async ({ atomic, foreign, fail }) => {
      await atomic('order_created', async () => {});
      await foreign('charge_created', provider.call(cart));
      fail('gone');
    });
    await newer.completeDue();
    expect(await rowOf(one)).toMatchObject({ state: 'failed', thing: isHeld ? cart : null });
    await database.client.auditRecord.deleteMany({ where: { action: `${cart}:order` } });
    const told = await shop().checkout.execute({ key: two, payload: { cart } });
    expect(told).toMatchObject(isHeld ? { ok: false } : { ok: true, replayed: false });
    expectCounted(provider.count(cart)).toBe(1);
  });

  test('A6 X3 held for ever, it is already_done for everybody once its key is gone, and nothing is sent', async () => {
    const [one, two] = [freshKey(), freshKey()];
    const { checkout } = shop({}, {}, database.client, { holdFor: 'forever' });
    expect(await checkout.execute({ key: one, payload: { cart } })).toMatchObject({ ok: true, replayed: false });
    await lose(one);
    const { sends } = provider;
    const later = shop({}, {}, database.client, { holdFor: 'forever' }).checkout;
    for (const key of [one, two]) {
      const told = await later.execute({ key, payload: { cart } });
      expect(told).toMatchObject({ code: 'already_done', executed: true, retry: 'never', key });
    }
    expectCounted(provider.sends).toBe(sends);
    await expectOnce();
  });
});

describe('C4 A6 a first phase that conflicts', () => {
  test.each([
    ['somebody else’s is already_done', BOB],
    ['the caller’s own is a replay', ANN],
  ])('X1 C4 its claim was rolled back, and another key has the thing when it is made again: %s', async (_, who) => {
    const second = createClient(database.url);
    const [one, two] = [freshKey(), freshKey()];
    const [conflicted, done] = [gate(), gate()];
    let conflicts = 0;
    const onOrder = async (tx: Tx) => {
      if (conflicts++ > 0) return;
      // The server gives up its tickets with the error, before the transaction is rolled back.
      const failing = tx.$executeRawUnsafe(`DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END $$`);
      await failing.catch(() => {});
      conflicted.open();
      await done.opened;
      throw Object.assign(new Error('conflict'), { code: 'P2034' });
    };
    const { checkout } = shop({ secret: [SECRET] }, {}, database.client, { onOrder });
    const conflicting = checkout.execute({ key: one, payload: { cart } });
    await conflicted.opened;
    const there = shop({ secret: [SECRET], scope: () => who }, {}, second).checkout;
    const first = await there.execute({ key: two, payload: { cart } });
    done.open();
    expect(first).toMatchObject({ ok: true, replayed: false, key: two });
    const told = await conflicting;
    if (who === ANN) {
      expect(told).toEqual({ ...first, replayed: true, nextKey: expect.any(String) });
    } else {
      expect(told).toMatchObject({ ok: false, code: 'already_done', executed: true, retry: 'never', key: one });
      expect(told).not.toHaveProperty('data');
      expect(JSON.stringify(told)).not.toContain(two);
    }
    expectCounted(conflicts).toBe(1);
    expectCounted(await rowsOf(database.client, one)).toEqual([]);
    await expectOnce();
    await second.$disconnect();
  });
});

describe('A6 a lost key that is entered', () => {
  const nothing = () => false;
  const month = { holdFor: 30 * 24 * HOUR };
  const named = (key: string) => ({ ...ANN, operation: 'pay', key });

  /** It was done, nobody can be asked about it, and a person knows its result. */
  async function enterByHand(key: string, payload?: unknown) {
    await shop().checkout.execute({ key, payload: { cart } });
    await lose(key);
    const { idempotency } = shop({}, {}, database.client, month);
    const line = { ...named(key), payload, result: { data: { by: 'hand' } } };
    const { enter } = (await idempotency.lookUpLost(line, nothing)) as LostKeyState;
    expect(await enter?.('eve')).toEqual({ kind: 'entered', state: 'succeeded' });
  }

  test('A6 K5 by hand it holds its thing, for as long as its operation says', async () => {
    const [one, two] = [freshKey(), freshKey()];
    await enterByHand(one, { cart });
    const { sends } = provider;
    expect(await shop().checkout.execute({ key: two, payload: { cart } })).toMatchObject({
      ok: true,
      replayed: true,
      key: one,
      data: { by: 'hand' },
    });
    expectCounted(provider.sends).toBe(sends);
    const row = await rowOf(one);
    expect(row).toMatchObject({ thing: cart });
    expect((row?.expiresAt.getTime() ?? 0) - (row?.claimedAt.getTime() ?? 0)).toBeCloseTo(month.holdFor, -5);
  });

  test('A6 without its payload nobody knows its thing, which another key may do once more', async () => {
    const [one, two] = [freshKey(), freshKey()];
    await enterByHand(one);
    expect(await rowOf(one)).toMatchObject({ state: 'succeeded', thing: null });
    expect(await shop().checkout.execute({ key: two, payload: { cart } })).toMatchObject({ replayed: false, key: two });
  });

  test('A6 it is not entered, and nothing goes on, where another key holds its thing by now', async () => {
    const [one, two] = [freshKey(), freshKey()];
    const asked: Partial<Call> = { lookup: async ({ order }) => provider.find(order) };
    const { checkout, idempotency } = shop({}, asked);
    await checkout.execute({ key: one, payload: { cart } });
    await lose(one);
    await database.client.auditRecord.deleteMany({ where: { action: { startsWith: cart } } });
    const line = { ...named(one), payload: { cart } };
    const before = (await idempotency.lookUpLost(line, nothing)) as LostKeyState;
    provider.charges.clear();
    const other = await checkout.execute({ key: two, payload: { cart } });
    expect(other).toMatchObject({ ok: true, replayed: false, key: two });
    const after = (await idempotency.lookUpLost(line, nothing)) as LostKeyState;
    const { sends } = provider;
    for (const { calls, enter } of [before, after]) {
      expect(calls).toEqual([{ name: 'charge_created', answer: 'found' }]);
      expect(await enter?.('eve')).toEqual({ kind: 'failed', why: 'another key holds its thing' });
    }
    expectCounted(await rowsOf(database.client, one)).toEqual([]);
    expectCounted(await database.client.idempotencyAudit.count({ where: { key: one } })).toBe(0);
    expectCounted(provider.sends).toBe(sends);
    await expectOnce();
    // A retry of it sends nothing either, in a process that does not remember it.
    expect(await shop({}, asked).checkout.execute({ key: one, payload: { cart } })).toMatchObject({
      replayed: true,
      key: two,
    });
    expectCounted(provider.sends).toBe(sends);
  });

  test('A6 an operation in one transaction is not executed for it, and a person is told why', async () => {
    const [one, two] = [freshKey(), freshKey()];
    const event = '0199aaaa-0000-7000-8000-000000000001';
    const on = kit(database.client);
    const oncePer = ({ input }: { input: Record<string, unknown> }) => String(input.cart);
    const order = on.operation({ name: 'order', schema: anything, oncePer }).handler(async ({ tx, key }) => {
      await effect(tx, `${cart}:order`);
      await tx.$executeRaw`
        INSERT INTO outbox_events (id, aggregate, sequence, type, payload, headers, derived_key, created_at)
        VALUES (${event}::uuid, ${key}, 1, 'placed', '{}', '{}', ${key}, clock_timestamp())`;
      return { of: key };
    });
    const line = { ...named(one), operation: 'order', payload: { cart } };
    const { enter } = (await on.lookUpLost(line, (id) => id === event)) as LostKeyState;
    await order.execute({ key: two, payload: { cart } });
    expect(await enter?.('eve')).toEqual({ kind: 'failed', why: 'another key holds its thing' });
    expectCounted(await effects(database.client, `${cart}:order`)).toBe(1);
  });
});
