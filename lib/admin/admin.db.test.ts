import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { Provider } from '../engine/phases/phases.fixture.ts';
import type { ForeignCall } from '../index.ts';
import { ANN, anything, effect, effects, freshKey, kit } from '../integration/kit.fixture.ts';
import { createAdmin, type KeyDetail, type SeenKey } from './index.ts';

let database: TestDatabase;
let provider: Provider;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());
beforeEach(() => {
  provider = new Provider();
  provider.honoursKeys = false;
});

type Call = ForeignCall<{ amount: number; order: string }, { id: string }>;

/** A payment at a provider that has no keys and cannot be asked, and the admin who looks at it. */
function shop(how: Partial<Call> = {}) {
  const idempotency = kit(database.client);
  const pay = idempotency
    .operation({
      name: 'pay',
      schema: anything,
      onRefused: async (tx, { key, reason }) => effect(tx, `${key}:undone:${reason}`),
    })
    .phases(async ({ atomic, foreign, capture, key }) => {
      await capture('order_id', () => `secret-capture-${key}`);
      await atomic('order_created', async (tx) => {
        await effect(tx, `${key}:order`);
        return { secretName: 'secret-atomic' };
      });
      const keyless = { indeterminate: 'unknown', providerKeyTtlMs: 0, fromReference: async (id: string) => ({ id }) };
      const call = provider.call(`secret-order-${key}`, { ...keyless, ...how } as Partial<Call>);
      const { id } = await foreign('charge_created', call);
      await atomic('finished', async (tx) => effect(tx, `${key}:finished`));
      return { charge: id };
    });
  const admin = createAdmin({ prisma: database.client, complete: idempotency.completeKey });
  return { idempotency, pay, admin };
}

const idOf = (key: string) => ({ ...ANN, operation: 'pay', key });

async function unknownKey({ pay, admin }: ReturnType<typeof shop>, key = freshKey()) {
  provider.faults = ['after'];
  expect(await pay.execute({ key, payload: { card: 'secret-input' } })).toMatchObject({ code: 'outcome_unknown' });
  const detail = (await admin.findKey(idOf(key))) as KeyDetail;
  expect(detail).toMatchObject({ state: 'unknown', needsAttention: true, nextAttemptAt: null });
  const seen: SeenKey = { ...idOf(key), fencingToken: detail.fencingToken };
  return { key, detail, seen };
}

const recordsOf = (key: string, type: string) => database.client.idempotencyAudit.count({ where: { key, type } });

test('keys of one second are listed by what they are, and each on one page, in every order', async () => {
  const admin = createAdmin({ prisma: database.client });
  const at = new Date('2026-11-20T09:00:00Z');
  const times = { claimedAt: at, settledAt: at, expiresAt: new Date(Date.now() + 3_600_000) };
  const listed = ['k1 one ann', 'k1 one bob', 'k1 two ann', 'k2 one ann'];
  for (const name of ['k2 one ann', 'k1 two ann', 'k1 one bob', 'k1 one ann']) {
    const [key, operation, principal] = name.split(' ').map((part) => `same-${part}`) as [string, string, string];
    await database.client.idempotencyKey.create({
      data: { tenant: 'acme', principal, operation, key, state: 'succeeded', ...times },
    });
  }
  const pagesOf = async (sort: 'newest' | 'oldest' | 'expires', search?: string) => {
    const pages = listed.map((_, offset) =>
      admin.listKeys({ state: 'succeeded', sort, limit: 1, offset, ...(search ? { search } : {}) }),
    );
    return (await Promise.all(pages)).map(({ rows: [row] }) =>
      [row?.key, row?.operation, row?.principal].map((part) => part?.replace('same-', '')).join(' '),
    );
  };
  for (const search of [undefined, 'same-']) {
    expect(await pagesOf('oldest', search)).toEqual(listed);
    expect(await pagesOf('newest', search)).toEqual(['k2 one ann', ...listed.slice(0, 3)]);
  }
  expect(await pagesOf('expires', 'same-')).toEqual(listed);
});

test('an admin sees each step, and nothing of what was sent or stored', async () => {
  const { detail, key } = await unknownKey(shop());
  expect(detail.recoveryPoint).toBe('order_created');
  expect(detail.phases).toMatchObject([
    { name: 'order_id', position: 1, kind: 'capture', state: 'done', result: 'string', derivedKey: null },
    { name: 'order_created', kind: 'atomic', state: 'done', result: { secretName: 'string' } },
    { name: 'charge_created', kind: 'foreign', state: 'started', sends: 1, result: null, verdict: null },
  ]);
  expect(detail.phases[2]).toMatchObject({ derivedKey: expect.stringMatching(/\S{32,}/), finishedAt: null });
  expect(detail.phases[2]?.firstSentAt).toBeInstanceOf(Date);
  const shown = JSON.stringify(detail);
  for (const secret of ['secret-capture', 'secret-atomic', 'secret-order', 'secret-input', 'arguments', 'input']) {
    expect(shown, `${secret} of ${key}`).not.toContain(secret);
  }
});

describe('resolve', () => {
  test('it went through: the reference becomes the result and the rest runs; a second click changes nothing', async () => {
    const on = shop();
    const { key, seen } = await unknownKey(on);
    expect(await on.admin.resolve(seen, { kind: 'succeeded', reference: 'ch_seen' }, 'eve')).toBe('recorded');
    expect(await on.admin.findKey(idOf(key))).toMatchObject({ state: 'succeeded', needsAttention: false });
    expect(await on.pay.execute({ key, payload: { card: 'secret-input' } })).toMatchObject({
      ok: true,
      replayed: true,
      data: { charge: 'ch_seen' },
    });
    expect(await on.admin.resolve(seen, { kind: 'failed' }, 'eve')).toBe('changed');
    expect(await recordsOf(key, 'verdict')).toBe(1);
    expectCounted(await effects(database.client, `${key}:finished`)).toBe(1);
    expect(provider.sends).toBe(1);
  });

  test('two clicks at once are one', async () => {
    const on = shop();
    const { key, seen } = await unknownKey(on);
    const click = () => on.admin.resolve(seen, { kind: 'failed' }, 'eve');
    expect((await Promise.all([click(), click()])).sort()).toEqual(['changed', 'recorded']);
    expect(await recordsOf(key, 'verdict')).toBe(1);
    expectCounted(await effects(database.client, `${key}:undone:marked_failed`)).toBe(1);
  });

  test('a reference that was mistyped can be corrected, and both are on record', async () => {
    const fromReference = (id: string) => (id === 'typo' ? Promise.reject(new Error('none')) : Promise.resolve({ id }));
    const on = shop({ fromReference });
    const { key, seen } = await unknownKey(on);
    expect(await on.admin.resolve(seen, { kind: 'succeeded', reference: 'typo' }, 'eve')).toBe('recorded');
    // Who has not looked again does not know of the first.
    expect(await on.admin.resolve(seen, { kind: 'failed' }, 'bob')).toBe('changed');
    const again = await on.admin.findKey(idOf(key));
    expect(again).toMatchObject({ state: 'unknown' });
    const { fencingToken = 0 } = again ?? {};
    const corrected = { kind: 'succeeded', reference: 'ch_seen' } as const;
    expect(await on.admin.resolve({ ...seen, fencingToken }, corrected, 'eve')).toBe('recorded');
    expect(await on.admin.findKey(idOf(key))).toMatchObject({ state: 'succeeded' });
    expect(await recordsOf(key, 'verdict')).toBe(2);
    expect(provider.sends).toBe(1);
  });

  test('it did not happen and shall not: a stored refusal, with what undoes it', async () => {
    const on = shop();
    const { key, seen } = await unknownKey(on);
    expect(await on.admin.resolve(seen, { kind: 'failed' }, 'eve')).toBe('recorded');
    expect(await on.admin.findKey(idOf(key))).toMatchObject({
      state: 'failed',
      answer: { kind: 'refusal', reason: 'marked_failed' },
    });
    expectCounted(await effects(database.client, `${key}:undone:marked_failed`)).toBe(1);
    expectCounted(await effects(database.client, `${key}:finished`)).toBe(0);
    expect(provider.sends).toBe(1);
  });

  test('send it again: once more, and once', async () => {
    const on = shop();
    const { key, seen } = await unknownKey(on);
    expect(await on.admin.resolve(seen, { kind: 'retry' }, 'eve')).toBe('recorded');
    expect(await on.admin.resolve(seen, { kind: 'retry' }, 'eve')).toBe('changed');
    expect(await on.admin.findKey(idOf(key))).toMatchObject({ state: 'succeeded' });
    expect(provider.sends).toBe(2);
    expect(await recordsOf(key, 'verdict')).toBe(1);
  });

  test('what was unknown, sent again and is unknown again is another key to have seen', async () => {
    const on = shop();
    const { key, seen } = await unknownKey(on);
    provider.faults = ['after'];
    await on.admin.resolve(seen, { kind: 'retry' }, 'eve');
    expect(await on.admin.findKey(idOf(key))).toMatchObject({ state: 'unknown' });
    expect(await on.admin.resolve(seen, { kind: 'failed' }, 'eve')).toBe('changed');
    expect(await on.admin.findKey(idOf(key))).toMatchObject({ state: 'unknown' });
    expect(provider.sends).toBe(2);
  });

  test('an error behind the verdict does not hide that it is recorded, and the completer goes on', async () => {
    const on = shop();
    const { key, seen } = await unknownKey(on);
    const broken = createAdmin({ prisma: database.client, complete: () => Promise.reject(new Error('no luck')) });
    expect(await broken.resolve(seen, { kind: 'succeeded', reference: 'ch_seen' }, 'eve')).toBe('recorded');
    expect(await on.admin.findKey(idOf(key))).toMatchObject({
      state: 'unknown',
      phases: [{}, {}, { verdict: 'succeeded', reference: 'ch_seen' }],
    });
    expect(await broken.resolve(seen, { kind: 'succeeded', reference: 'ch_seen' }, 'eve')).toBe('changed');
    await on.idempotency.completeDue({ limit: 100 });
    expect(await on.admin.findKey(idOf(key))).toMatchObject({ state: 'succeeded' });
    const [event] = await database.client.idempotencyAudit.findMany({ where: { key, type: 'verdict' } });
    expect(event).toMatchObject({
      actor: 'eve',
      detail: { step: 'charge_created', verdict: 'succeeded', reference: 'ch_seen' },
    });
  });

  test('a key of another principal, or under another token, is not touched', async () => {
    const on = shop();
    const { key, seen } = await unknownKey(on);
    expect(await on.admin.resolve({ ...seen, principal: 'bob' }, { kind: 'failed' }, 'eve')).toBe('changed');
    expect(await on.admin.resolve({ ...seen, fencingToken: 7 }, { kind: 'failed' }, 'eve')).toBe('changed');
    expect(await on.admin.findKey(idOf(key))).toMatchObject({ state: 'unknown' });
    expect(await recordsOf(key, 'verdict')).toBe(0);
  });
});

describe('retryNow', () => {
  test('drives on a key whose executor is gone, and never one with a live lease', async () => {
    const on = shop({ indeterminate: 'retry', providerKeyTtlMs: 86_400_000, maxTries: 1 });
    provider.honoursKeys = true;
    provider.faults = ['before'];
    const key = freshKey();
    await on.pay.execute({ key, payload: {} });
    const { fencingToken = 0 } = (await on.admin.findKey(idOf(key))) ?? {};
    const seen: SeenKey = { ...idOf(key), fencingToken };
    await database.client
      .$executeRaw`UPDATE idempotency_keys SET lease_until = now() + interval '1 h' WHERE key = ${key}`;
    expect(await on.admin.retryNow(seen, 'eve')).toBe('changed');
    expect(await recordsOf(key, 'retry')).toBe(0);

    await database.client.$executeRaw`UPDATE idempotency_keys SET lease_until = now(), next_attempt_at = NULL,
      needs_attention = true WHERE key = ${key}`;
    expect(await on.admin.retryNow(seen, 'eve')).toBe('recorded');
    expect(await on.admin.findKey(idOf(key))).toMatchObject({ state: 'succeeded', needsAttention: false });
    expect(await on.admin.retryNow(seen, 'eve')).toBe('changed');
    expect(await recordsOf(key, 'retry')).toBe(1);
    expectCounted(provider.count(`secret-order-${key}`)).toBe(1);
  });
});
