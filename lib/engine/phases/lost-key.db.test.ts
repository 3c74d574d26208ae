import { randomUUID } from 'node:crypto';
import { describe, expect, test, vi } from 'vitest';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import { mintKey } from '../../core/key.ts';
import { readSecrets } from '../../core/secrets.ts';
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
  SECRET,
  type Tx,
  watchOf,
} from '../../integration/kit.fixture.ts';
import { createOutbox } from '../../messaging/prisma.ts';
import type { NamedKeyState } from './lost-key.ts';
import {
  type Call,
  database,
  expectOnce,
  expire,
  lose,
  provider,
  rowOf,
  shop,
  stepsOf,
  usePhases,
} from './shop.fixture.ts';

type LostKeyState = Extract<NamedKeyState, { kind: 'lost' }>;

usePhases();

const PAYLOAD = { card: 'secret-card' };
const nothing = () => false;
const asked: Partial<Call> = { lookup: async ({ order }) => provider.find(order) };
const named = (key: string, operation = 'pay') => ({ ...ANN, operation, key, payload: PAYLOAD });
const audited = async (key: string) =>
  (await database.client.idempotencyAudit.findMany({ where: { key } })).map(({ type, actor }) => `${type} ${actor}`);

/** A purchase that was charged and answered, and then lost. */
async function lostPurchase(how: Partial<Call> = asked) {
  const key = freshKey();
  const { checkout, idempotency } = shop({}, how);
  const outcome = await checkout.execute({ key, payload: PAYLOAD });
  expect(outcome).toMatchObject({ ok: true, data: { charge: `ch_${provider.charges.size}` } });
  await lose(key);
  return { key, outcome, ...shop({}, how), earlier: idempotency };
}

const lostState = (state: unknown) => state as LostKeyState & Required<Pick<LostKeyState, 'enter'>>;

describe('a purchase that was charged, and that the database has lost', () => {
  test('without it being entered, a retry charges twice once the provider has forgotten the key', async () => {
    const { key, checkout } = await lostPurchase();
    provider.honoursKeys = false;
    expect(await checkout.execute({ key, payload: PAYLOAD })).toMatchObject({ ok: true });
    expectCounted(provider.count(`order-of-${key}`)).toBe(2);
  });

  test('is entered with the call behind it, which is sent where its provider still remembers that key', async () => {
    const { first } = readSecrets([SECRET]);
    const key = mintKey(Date.now() - 60_000, { ...ANN, operation: 'pay' }, first);
    const idempotency = kit(database.client, { secret: [SECRET] });
    idempotency.operation({ name: 'pay', schema: anything }).phases(async ({ foreign }) => {
      await foreign('charge_created', provider.call(`charge-${key}`, { lookup: asked.lookup }));
      return await foreign('parcel_booked', provider.call(`parcel-${key}`, { lookup: asked.lookup }));
    });
    provider.charges.set('charged', { id: 'ch_1', amount: 100, order: `charge-${key}` });
    const state = lostState(await idempotency.lookUpLost(named(key), nothing));
    expect(state.calls).toMatchObject([{ answer: 'found' }, { answer: 'absent' }]);
    expect(await state.enter('eve')).toEqual({ kind: 'entered', state: 'succeeded' });
    expectCounted([provider.count(`charge-${key}`), provider.count(`parcel-${key}`)]).toEqual([1, 1]);
  });

  test('is found, and entered without a second charge; late retries are answered', async () => {
    const { key, outcome, checkout, idempotency } = await lostPurchase();
    provider.honoursKeys = false; // it has forgotten the key
    const { sends } = provider;
    const state = lostState(await idempotency.lookUpLost(named(key), nothing));
    expect(state).toMatchObject({ kind: 'lost', calls: [{ name: 'charge_created', answer: 'found' }] });
    expect(await rowOf(key)).toBeUndefined();
    expectCounted(await effects(database.client, `${key}:order`)).toBe(0);

    expect(await state.enter('eve')).toEqual({ kind: 'entered', state: 'succeeded' });
    await expectOnce(key);
    expectCounted(provider.sends).toBe(sends);
    expect(await audited(key)).toEqual(['reconciled eve']);
    const data = outcome.ok && outcome.data;
    expect(await checkout.execute({ key, payload: PAYLOAD })).toMatchObject({ ok: true, replayed: true, data });
    expect(await checkout.execute({ key, payload: { card: 'other' } })).toMatchObject({ code: 'payload_mismatch' });
    expect(await idempotency.lookUpLost(named(key), nothing)).toEqual({ kind: 'known', state: 'succeeded' });
  });

  test('two people at once, and a late retry beside them: one effect', async () => {
    const { key, checkout, idempotency } = await lostPurchase();
    const other = shop({}, asked).idempotency;
    const one = await idempotency.lookUpLost(named(key), nothing);
    const two = await other.lookUpLost(named(key), nothing);
    const [first, second, retried] = await Promise.all([
      lostState(one).enter('eve'),
      lostState(two).enter('bob'),
      checkout.execute({ key, payload: PAYLOAD, waitMs: 0 }),
    ]);
    expect([first, second].filter(({ kind }) => kind === 'entered').length).toBeLessThanOrEqual(1);
    expect(retried.ok || ['in_flight', 'unavailable'].includes(retried.code)).toBe(true);
    const late = () => checkout.execute({ key, payload: PAYLOAD });
    await vi.waitFor(async () => expect(await late()).toMatchObject({ ok: true, replayed: true }));
    await expectOnce(key);
  });

  test('a later call of it is not sent blindly: it may have been made', async () => {
    const key = freshKey();
    const two = (idempotency: ReturnType<typeof kit>, how: Partial<Call>) =>
      idempotency.operation({ name: 'pay', schema: anything }).phases(async ({ foreign, atomic, key: own }) => {
        await atomic('order_created', (tx) => effect(tx, `${own}:order`));
        await foreign('charge_created', provider.call(`a-${own}`, asked));
        return await foreign('booked', provider.call(`b-${own}`, { ...how, indeterminate: 'retry' }));
      });
    const first = kit(database.client);
    expect(await two(first, {}).execute({ key, payload: PAYLOAD })).toMatchObject({ ok: true });
    await lose(key);
    provider.honoursKeys = false;
    const later = kit(database.client);
    two(later, {}); // the second one cannot be asked about
    const state = lostState(await later.lookUpLost(named(key), nothing));
    expect(state.calls).toEqual([
      { name: 'charge_created', answer: 'found' },
      { name: 'booked', answer: 'unasked' },
    ]);
    expect(await state.enter('eve')).toEqual({ kind: 'entered', state: 'unknown' });
    expectCounted(provider.count(`b-${key}`)).toBe(1);
    expect(await rowOf(key)).toMatchObject({ needsAttention: true });
  });

  test('is entered also where the key is older than its window', async () => {
    const { first } = readSecrets([SECRET]);
    const old = mintKey(Date.now() - 30 * HOUR, { ...ANN, operation: 'pay' }, first);
    const { idempotency, checkout } = shop({ secret: [SECRET] }, asked);
    await provider.charge({ amount: 100, order: `order-of-${old}` }, 'the derived key');
    expect(await checkout.execute({ key: old, payload: PAYLOAD })).toMatchObject({ code: 'key_expired' });
    const state = lostState(await idempotency.lookUpLost(named(old), nothing));
    expect(await state.enter('eve')).toMatchObject({ kind: 'entered', state: 'succeeded' });
    expect(await checkout.execute({ key: old, payload: PAYLOAD })).toMatchObject({ ok: true, replayed: true });
    const whose = { ...named(mintKey(Date.now(), { ...BOB, operation: 'pay' }, first)) };
    expect(await idempotency.lookUpLost(whose, nothing)).toEqual({ kind: 'refused', why: 'key_invalid' });
  });

  test('a captured value that the look-up was made with is that of the entered key', async () => {
    const key = freshKey();
    const asked: string[] = [];
    const lookup: Call['lookup'] = async ({ order }) => ({ found: { id: asked[asked.push(order) - 1] as string } });
    const idempotency = kit(database.client);
    const pay = idempotency.operation({ name: 'pay', schema: anything }).phases(async ({ capture, foreign }) => {
      const id = await capture('id', () => randomUUID());
      await foreign('charge_created', provider.call(id, { lookup }));
      await capture('later', () => 'value');
      return { id };
    });
    const state = lostState(await idempotency.lookUpLost(named(key), nothing));
    await state.enter('eve');
    expect(asked).toHaveLength(1);
    expect(await pay.execute({ key, payload: PAYLOAD })).toMatchObject({ replayed: true, data: { id: asked[0] } });
    expect((await stepsOf(key)).map(({ name, position, state: is }) => [name, position, is])).toEqual([
      ['id', 1, 'done'],
      ['charge_created', 2, 'done'],
      ['later', 3, 'done'],
    ]);
  });
});

describe('what nobody outside knows', () => {
  test.each([
    ['absent', { lookup: async () => 'absent' as const }],
    ['unasked', {}],
    ['unasked', { lookup: async () => Promise.reject(new Error('secret-card')) }],
    ['unasked', { lookup: async () => ({ found: undefined }) as never }],
  ])('is not entered: %s', async (answer, how) => {
    const { key, idempotency } = await lostPurchase(how);
    const { sends } = provider;
    const state = await idempotency.lookUpLost(named(key), nothing);
    expect(state).toEqual({
      kind: 'lost',
      calls: [{ name: 'charge_created', answer }],
      receivedEvents: [],
      stoppedBy: undefined,
    });
    expectCounted(provider.sends).toBe(sends);
    expect(await rowOf(key)).toBeUndefined();
  });

  test('a call that the provider is still about is entered, and asked about', async () => {
    const { key, idempotency } = await lostPurchase();
    provider.says = 'pending';
    const state = lostState(await idempotency.lookUpLost(named(key), nothing));
    expect(state.calls).toEqual([{ name: 'charge_created', answer: 'pending' }]);
    expect(await state.enter('eve')).toEqual({ kind: 'entered', state: 'unknown' });
    provider.says = undefined;
    await expire(key);
    expect(await idempotency.completeKey({ ...ANN, operation: 'pay', key })).toBe('succeeded');
    await expectOnce(key);
  });

  test('a person may enter a result where nobody can be asked, and not against the provider', async () => {
    const { key, checkout, idempotency } = await lostPurchase({});
    const result = { data: { order: 'known-by-hand' } };
    const state = lostState(await idempotency.lookUpLost({ ...named(key), result }, nothing));
    expect(await state.enter('eve')).toEqual({ kind: 'entered', state: 'succeeded' });
    expect(await checkout.execute({ key, payload: PAYLOAD })).toMatchObject({ replayed: true, data: result.data });
    expect(await checkout.execute({ key, payload: {} })).toMatchObject({ code: 'payload_mismatch' });
    const denied = await lostPurchase({ lookup: async () => 'absent' });
    expect(await denied.idempotency.lookUpLost({ ...named(denied.key), result }, nothing)).not.toHaveProperty('enter');
  });

  test('a result without a payload answers every retry', async () => {
    const { key, checkout, idempotency } = await lostPurchase({});
    const { payload, ...rest } = named(key);
    expect(await idempotency.lookUpLost(rest, nothing)).toEqual({ kind: 'lost', calls: [], receivedEvents: [] });
    const state = lostState(await idempotency.lookUpLost({ ...rest, result: { data: null } }, nothing));
    expect(await state.enter('eve')).toMatchObject({ kind: 'entered' });
    expect(await checkout.execute({ key, payload })).toMatchObject({ ok: true, replayed: true, data: null });
  });

  test('a result that no answer can hold is not entered', async () => {
    const { key, idempotency } = await lostPurchase({});
    const result = { data: 'x'.repeat(300_000) };
    const state = lostState(await idempotency.lookUpLost({ ...named(key), result }, nothing));
    expect(await state.enter('eve')).toEqual({ kind: 'failed', why: 'result_too_large' });
    expect(await rowOf(key)).toBeUndefined();
  });

  test('an operation that refuses, or throws, before anybody could be asked says so without its words', async () => {
    const idempotency = kit(database.client);
    const define = (name: string, run: (tx: Tx) => never) =>
      idempotency.operation({ name, schema: anything }).phases(({ atomic }) => atomic('first', async (tx) => run(tx)));
    define('broken', () => {
      throw new TypeError('secret-card');
    });
    idempotency
      .operation({ name: 'refuses', schema: anything })
      .phases(({ atomic, fail }) => atomic('first', async () => fail('sold_out')));
    const key = freshKey();
    expect(await idempotency.lookUpLost(named(key, 'broken'), nothing)).toMatchObject({ stoppedBy: 'TypeError' });
    expect(await idempotency.lookUpLost(named(key, 'refuses'), nothing)).toMatchObject({ stoppedBy: 'sold_out' });
    const begin = () => {
      throw new RangeError('secret-card');
    };
    idempotency.operation({ name: 'begins', schema: anything, begin }).handler(async () => 'never');
    expect(await idempotency.lookUpLost(named(key, 'begins'), nothing)).toEqual({
      kind: 'lost',
      calls: [],
      receivedEvents: [],
      stoppedBy: 'RangeError',
    });
    expect(await idempotency.lookUpLost(named(key, 'nobody'), nothing)).toEqual({
      kind: 'refused',
      why: 'no such operation',
    });
  });
});

describe('an operation in one transaction', () => {
  const outbox = () => createOutbox({ prisma: database.client, destinations: [] });
  function orders() {
    const idempotency = kit(database.client);
    const order = idempotency.operation({ name: 'order', schema: anything }).handler(async ({ tx, key, scope }) => {
      await effect(tx, `${key}:order`);
      const event = { type: 'order.placed', aggregate: `order:${randomUUID()}`, payload: {} };
      await outbox().enqueue(tx, event, { key, scope, step: 'placed' });
      return 'placed';
    });
    return { idempotency, order };
  }
  const eventsOf = async () => (await database.client.outboxEvent.findMany()).map(({ id }) => id);

  test('whose event a consumer has is executed again, and announces the same event', async () => {
    const key = freshKey();
    const before = orders();
    expect(await before.order.execute({ key, payload: PAYLOAD })).toMatchObject({ ok: true });
    const [received = ''] = await eventsOf();
    await lose(key);
    await database.client.outboxEvent.deleteMany();
    const { idempotency, order } = orders();
    expect(await idempotency.knownEvents([received])).toEqual([]);
    const unknown = await idempotency.lookUpLost(named(key, 'order'), nothing);
    expect(unknown).toEqual({ kind: 'lost', calls: [], receivedEvents: [], stoppedBy: undefined });
    const state = lostState(await idempotency.lookUpLost(named(key, 'order'), (id) => id === received));
    expect(state.receivedEvents).toEqual([received]);
    expect(await eventsOf()).toEqual([]);
    expect(await state.enter('eve')).toEqual({ kind: 'entered', state: 'succeeded' });
    expect(await eventsOf()).toEqual([received]);
    expect(await idempotency.knownEvents([received])).toEqual([received]);
    expectCounted(await effects(database.client, `${key}:order`)).toBe(1);
    expect(await audited(key)).toEqual(['reconciled eve']);
    expect(await order.execute({ key, payload: PAYLOAD })).toMatchObject({ ok: true, replayed: true });
    expect(await state.enter('bob')).toEqual({ kind: 'existing' });
    expect(await audited(key)).toEqual(['reconciled eve']);
  });

  test('is not taken for lost because of what others announce at the same time', async () => {
    const other = randomUUID();
    const outside = await watchOf(database.url);
    const idempotency = kit(database.client);
    idempotency.operation({ name: 'beside', schema: anything }).handler(async () => {
      await outside.query(
        `INSERT INTO outbox_events (id, aggregate, sequence, type, payload, headers, derived_key, created_at)
         VALUES ($1::uuid, 'other', 1, 'other', '{}', '{}', $1::text, clock_timestamp())`,
        [other],
      );
      return 'beside';
    });
    const state = await idempotency.lookUpLost(named(freshKey(), 'beside'), (id) => id === other);
    await outside.close();
    expect(state).toEqual({ kind: 'lost', calls: [], receivedEvents: [], stoppedBy: undefined });
  });

  test('that is executed at this moment is left alone', async () => {
    const [started, end] = [gate(), gate()];
    const idempotency = kit(database.client);
    const slow = idempotency.operation({ name: 'slow', schema: anything }).handler(async ({ tx, key }) => {
      await effect(tx, `${key}:order`);
      started.open();
      await end.opened;
      return 'slow';
    });
    const key = freshKey();
    const running = slow.execute({ key, payload: PAYLOAD });
    await started.opened;
    expect(await idempotency.lookUpLost({ ...named(key, 'slow'), result: { data: 1 } }, nothing)).toEqual({
      kind: 'running',
    });
    end.open();
    expect(await running).toMatchObject({ ok: true, replayed: false });
  });
});
