import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { Provider } from '../engine/phases/phases.fixture.ts';
import { ANN, anything, effect, effects, freshKey, kit, rowsOf, stopping } from '../integration/kit.fixture.ts';
import { mintKeyAt } from '../testing/conformance/target.ts';
import { createAdmin, type SeenKey } from './index.ts';

let database: TestDatabase;
let provider: Provider;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());
beforeEach(() => {
  provider = new Provider();
});

const idOf = (key: string, operation = 'pay') => ({ ...ANN, operation, key });
const seenOf = (key: string, fencingToken = 1, operation = 'pay'): SeenKey => ({
  ...idOf(key, operation),
  fencingToken,
});
const seenNow = async (key: string) => seenOf(key, (await rowsOf(database.client, key))[0]?.fencingToken);
const recordsOf = (key: string) =>
  database.client.idempotencyAudit.findMany({ where: { key }, select: { type: true, actor: true } });
const set = (key: string, sql: string) =>
  database.client.$executeRawUnsafe(`UPDATE idempotency_keys SET ${sql} WHERE key = $1`, key);

/** An app with a payment in phases, and its admin. A key whose call was lost stays in progress, its lease over. */
function shop(how: object = {}) {
  const idempotency = kit(database.client);
  const pay = idempotency.operation({ name: 'pay', schema: anything }).phases(async ({ atomic, foreign, key }) => {
    await atomic('order_created', async (tx) => {
      await effect(tx, `${key}:order`);
      return 'secret-step';
    });
    const { id } = await foreign('charge_created', provider.call(key, { maxTries: 1, ...how }));
    return { secret: id };
  });
  const admin = createAdmin({
    prisma: database.client,
    dropRecent: idempotency.dropRecent,
    secret: ['s'.repeat(32)],
  });
  return { idempotency, pay, admin };
}

/** The token of a key that its executor has let go: numbered for these tests, for the executor has drawn it. */
const STUCK = 2;

async function stuckKey({ pay }: ReturnType<typeof shop>) {
  const key = freshKey();
  provider.faults = ['before'];
  await pay.execute({ key, payload: { card: 'secret-input' } });
  await set(key, `fencing_token = ${STUCK}`);
  expectCounted(await rowsOf(database.client, key)).toMatchObject([{ state: 'in_progress' }]);
  return key;
}

describe('release', () => {
  test('takes a key from an executor that is gone, once, and the next one finishes it', async () => {
    const on = shop();
    const key = await stuckKey(on);
    await set(key, `needs_attention = true, next_attempt_at = NULL, attempts = 31`);
    expect(await on.admin.release(seenOf(key, STUCK), 'eve')).toBe('recorded');
    expect(await on.admin.release(seenOf(key, STUCK), 'eve')).toBe('changed');
    expect(await on.admin.findKey(idOf(key))).toMatchObject({
      state: 'in_progress',
      fencingToken: STUCK + 1,
      attempts: 0,
      needsAttention: false,
      nextAttemptAt: expect.any(Date),
    });
    expect(await recordsOf(key)).toEqual([{ type: 'released', actor: 'eve' }]);
    await on.idempotency.completeDue({ limit: 100 });
    expect(await on.admin.findKey(idOf(key))).toMatchObject({ state: 'succeeded' });
    expectCounted([provider.count(key), await effects(database.client, `${key}:order`)]).toEqual([1, 1]);
  });

  test('is refused while the lease is live, and while the executor is in a transaction that outlasts it', async () => {
    const on = shop();
    const key = await stuckKey(on);
    await set(key, `lease_until = now() + interval '1 h'`);
    expect(await on.admin.release(seenOf(key, STUCK), 'eve')).toBe('refused');
    await set(key, `lease_until = now() - interval '1 s'`);
    await database.client.$transaction(async (executor) => {
      await executor.$queryRaw`SELECT 1 FROM idempotency_keys WHERE key = ${key} FOR UPDATE`;
      expect(await on.admin.release(seenOf(key, STUCK), 'eve'), 'without a wait').toBe('refused');
    });
    expectCounted(await rowsOf(database.client, key)).toMatchObject([{ fencingToken: STUCK }]);
    expect(await recordsOf(key)).toEqual([]);
    expect(await on.admin.release(seenOf(key, STUCK), 'eve')).toBe('recorded');
  });

  test.each([
    ['knows no keys', { providerKeyTtlMs: 0 }, 'SELECT 1'],
    [
      'has forgotten this one',
      {},
      `UPDATE idempotency_phases SET keys_until = now() - interval '1 s' WHERE name = 'charge_created'`,
    ],
  ])('X3 is refused where a call has begun whose provider %s', async (_, how, later) => {
    const on = shop(how);
    const key = freshKey();
    provider.faults = ['after'];
    await on.pay.execute({ key, payload: {} });
    // As an executor leaves it that was killed in the middle of the call.
    await set(
      key,
      `state = 'in_progress', lease_until = now() - interval '1 s', next_attempt_at = now() - interval '1 s', needs_attention = false`,
    );
    await database.client.$executeRawUnsafe(later);
    const [{ fencingToken } = { fencingToken: 0 }] = await rowsOf(database.client, key);
    expect(await on.admin.release(seenOf(key, fencingToken), 'eve')).toBe('refused');
    expectCounted(await rowsOf(database.client, key)).toMatchObject([{ fencingToken }]);
    expect((await recordsOf(key)).filter(({ type }) => type === 'released')).toEqual([]);
  });

  test('changes nothing of a key that is unknown, settled, or another one', async () => {
    const on = shop();
    const key = await stuckKey(on);
    expect(await on.admin.release({ ...seenOf(key, STUCK), principal: 'bob' }, 'eve')).toBe('changed');
    expect(await on.admin.release(seenOf(key, 7), 'eve')).toBe('changed');
    await set(key, `state = 'unknown', lease_until = NULL`);
    expect(await on.admin.release(seenOf(key, STUCK), 'eve')).toBe('changed');
    expect(await recordsOf(key)).toEqual([]);
  });
});

describe('fence', () => {
  test('S5 a key without a row never executes from then on; the second time changes nothing', async () => {
    const on = shop();
    const key = freshKey();
    expect(await on.admin.fence(idOf(key), 'eve')).toBe('recorded');
    expect(await on.admin.fence(idOf(key), 'eve')).toBe('changed');
    expect(await recordsOf(key)).toEqual([{ type: 'fenced', actor: 'eve' }]);
    expect(await on.pay.execute({ key, payload: {} })).toMatchObject({ code: 'key_abandoned', executed: false });
    expectCounted(await effects(database.client, `${key}:order`)).toBe(0);
  });

  test('S5 K3 is refused for what runs or has run, or may have: a row, an open claim, a key past its window, a key of another operation', async () => {
    const on = shop();
    const [running, done, claimed] = [await stuckKey(on), freshKey(), freshKey()];
    await on.pay.execute({ key: done, payload: {} });
    const open = stopping();
    const order = kit(database.client).operation({ name: 'order', schema: anything }).handler(open.handle);
    const executing = order.execute({ key: claimed, payload: {} });
    await open.started.opened;
    const others = mintKeyAt(Date.now(), idOf('', 'refund'), 's'.repeat(32));
    const old = mintKeyAt(Date.now() - 25 * 3_600_000, idOf('', 'pay'), 's'.repeat(32));
    const fenced = await Promise.all(
      [idOf(running), idOf(done), idOf(claimed, 'order'), idOf(old), idOf(others), idOf('no key, this')].map((id) =>
        on.admin.fence(id, 'eve'),
      ),
    );
    expect(fenced).toEqual(Array(6).fill('refused'));
    open.end.open('commit');
    expect(await executing).toMatchObject({ ok: true });
    expectCounted(await rowsOf(database.client, running)).toMatchObject([
      { state: 'in_progress', fencingToken: STUCK },
    ]);
    expectCounted(await rowsOf(database.client, done)).toMatchObject([{ state: 'succeeded' }]);
    expectCounted(await rowsOf(database.client, old)).toEqual([]);
  });
});

describe('forget', () => {
  const RECEIPT = { receipt: ({ id }: { id: string }) => ({ reference: id, amount: '$1.00' }) };
  const NO_RECEIPT = { reference: null, amount: null };

  test('X3 erases the answer and keeps the row: a retry is told that it was done, and nothing runs', async () => {
    const on = shop(RECEIPT);
    const key = freshKey();
    const send = () => on.pay.execute({ key, payload: { card: 'secret-input' } });
    const first = await send();
    expect([first, await send()]).toMatchObject([{ ok: true }, { ok: true, replayed: true }]);
    const before = await on.admin.findKey(idOf(key));
    expect(before).toMatchObject({ state: 'succeeded', isForgotten: false });
    const receipt = { reference: 'ch_1', amount: '$1.00', knownBy: 'answer' };
    expect(before?.phases[1]).toMatchObject({ ...receipt, finishedAt: expect.any(Date), result: null });
    const seen = await seenNow(key);
    expect(await on.admin.forget(seen, 'eve')).toBe('recorded');
    expect(await on.admin.forget(seen, 'eve')).toBe('changed');

    const { events, ...after } = (await on.admin.findKey(idOf(key))) ?? { events: [] };
    expect(after).toMatchObject({ state: 'succeeded', isForgotten: true, answer: { kind: 'erased' } });
    expect(after).toMatchObject({ expiresAt: before?.expiresAt, settledAt: before?.settledAt });
    expect(events).toMatchObject([{ type: 'forgotten', actor: 'eve' }]);
    const [stored] = await database.client.idempotencyKey.findMany({ where: { key } });
    expect(stored).toMatchObject({ result: null, input: null });
    const steps = await database.client.idempotencyPhase.findMany({ where: { key }, orderBy: { position: 'asc' } });
    expect(steps).toMatchObject([{ result: null }, { arguments: null, ...NO_RECEIPT }]);
    // Nor does a sender that repeats itself bring it back.
    const proof = { said: 'charge.succeeded', step: 'charge_created', succeeded: 'ch_1' };
    await database.client.$transaction((tx) => on.idempotency.recordEvidence(tx, idOf(key), proof, 'stripe'));
    expect((await on.admin.findKey(idOf(key)))?.phases[1]).toMatchObject(NO_RECEIPT);

    // Here and in another process, of which one has just answered from its memory.
    for (const pay of [on.pay, shop().pay]) {
      expect(await pay.execute({ key, payload: { card: 'secret-input' } })).toMatchObject({
        code: 'result_unreadable',
        executed: true,
        retry: 'never',
      });
      expect(await pay.execute({ key, payload: { card: 'other' } })).toMatchObject({ code: 'payload_mismatch' });
      expect(await pay.status({ key })).toMatchObject({ state: 'succeeded', outcome: { executed: true } });
    }
    expectCounted([provider.count(key), await effects(database.client, `${key}:order`)]).toEqual([1, 1]);
  });

  test('two clicks at once are one', async () => {
    const on = shop();
    const key = freshKey();
    await on.pay.execute({ key, payload: {} });
    const seen = await seenNow(key);
    const click = () => on.admin.forget(seen, 'eve');
    expect((await Promise.all([click(), click()])).sort()).toEqual(['changed', 'recorded']);
    expect(await recordsOf(key)).toEqual([{ type: 'forgotten', actor: 'eve' }]);
  });

  test('a stored refusal stays a refusal, without what it said', async () => {
    const on = shop();
    const key = freshKey();
    provider.faults = ['declined'];
    expect(await on.pay.execute({ key, payload: {} })).toMatchObject({ code: 'failed', reason: 'card_declined' });
    expect(await on.admin.forget(await seenNow(key), 'eve')).toBe('recorded');
    const told = await on.pay.execute({ key, payload: {} });
    expect(told).toMatchObject({ code: 'failed', executed: 'unknown', replayed: true, retry: 'new-key' });
    expect([told, 'reason' in told, 'data' in told].slice(1)).toEqual([false, false]);
    expect(provider.sends).toBe(1);
  });

  test('R3 an answer that was erased is not made again, not even by work that does no harm twice', async () => {
    const key = freshKey();
    const define = (schemaVersion: number) =>
      kit(database.client)
        .operation({ name: 'set', schema: anything, naturallyIdempotent: true, schemaVersion })
        .handler(async ({ tx }) => effect(tx, key));
    await define(1).execute({ key, payload: {} });
    const admin = createAdmin({ prisma: database.client });
    expect(await admin.forget(seenOf(key, 1, 'set'), 'eve')).toBe('recorded');
    expect(await define(2).execute({ key, payload: {} })).toMatchObject({ code: 'result_unreadable', executed: true });
    expectCounted([await effects(database.client, key), (await rowsOf(database.client, key))[0]?.result]).toEqual([
      1,
      null,
    ]);
  });

  test('is refused for what is not settled, which keeps what it needs to go on, and for a tombstone', async () => {
    const on = shop();
    const [key, tombstone] = [await stuckKey(on), freshKey()];
    await on.admin.fence(idOf(tombstone), 'eve');
    expect(await on.admin.forget(seenOf(key, STUCK), 'eve')).toBe('refused');
    expect(await on.admin.forget(seenOf(tombstone), 'eve')).toBe('refused');
    expect(await on.admin.forget(seenOf(freshKey()), 'eve')).toBe('changed');
    expect(await recordsOf(key)).toEqual([]);
    await set(key, `next_attempt_at = now() - interval '1 s'`);
    await on.idempotency.completeDue({ limit: 100 });
    expect(await on.admin.findKey(idOf(key))).toMatchObject({ state: 'succeeded', isForgotten: false });
  });

  test('of a principal: every settled key once, none of others, and it says what is not settled', async () => {
    const { admin, idempotency, pay } = shop(RECEIPT);
    const [bea, bob] = [
      { tenant: 'acme', principal: 'bea' },
      { tenant: 'acme', principal: 'bob' },
    ];
    const [done, failed, open, other] = [freshKey(), freshKey(), freshKey(), freshKey()];
    await pay.execute({ key: done, payload: {}, scope: bea });
    provider.faults = ['declined'];
    await pay.execute({ key: failed, payload: {}, scope: bea });
    provider.faults = ['before'];
    await pay.execute({ key: open, payload: {}, scope: bea });
    await pay.execute({ key: other, payload: {}, scope: bob });
    expect(await admin.erasePrincipal(bea, 'eve')).toMatchObject({ forgotten: 2, unsettled: 1 });
    expect(await admin.erasePrincipal(bea, 'eve')).toMatchObject({ forgotten: 0, unsettled: 1 });
    const receipts = await database.client.idempotencyPhase.findMany({
      where: { key: { in: [done, other] }, kind: 'foreign' },
      select: { key: true, reference: true, amount: true },
    });
    expect(receipts).toHaveLength(2);
    expect(receipts).toContainEqual({ key: done, ...NO_RECEIPT });
    expect(receipts).toContainEqual({ key: other, reference: 'ch_2', amount: '$1.00' });
    for (const key of [done, failed]) expect(await recordsOf(key)).toEqual([{ type: 'forgotten', actor: 'eve' }]);
    for (const key of [open, other]) expect(await recordsOf(key)).toEqual([]);
    expect(await pay.execute({ key: done, payload: {}, scope: bea })).toMatchObject({ code: 'result_unreadable' });
    expect(await pay.execute({ key: other, payload: {}, scope: bob })).toMatchObject({ ok: true, replayed: true });
    await set(open, `next_attempt_at = now() - interval '1 s'`);
    await idempotency.completeDue({ limit: 100 });
    expect(await admin.erasePrincipal(bea, 'eve')).toMatchObject({ forgotten: 1, unsettled: 0 });
  });
});
