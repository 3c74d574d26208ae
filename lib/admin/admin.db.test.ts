import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { until } from '../../scripts/testing/until.ts';
import { Provider } from '../engine/phases/phases.fixture.ts';
import type { ForeignCall } from '../index.ts';
import { ANN, anything, effect, effects, freshKey, kit } from '../integration/kit.fixture.ts';
import { prismaStore } from '../store/prisma/store.ts';
import { createAdmin, type KeyDetail, type KeyFilter, type SeenCall, type SeenKey } from './index.ts';

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

type Shop = ReturnType<typeof shop>;
type Tx = Parameters<Shop['idempotency']['recordEvidence']>[0];

const idOf = (key: string) => ({ ...ANN, operation: 'pay', key });

async function unknownKey({ pay, admin }: Shop, key = freshKey()) {
  provider.faults = ['after'];
  expect(await pay.execute({ key, payload: { card: 'secret-input' } })).toMatchObject({ code: 'outcome_unknown' });
  const detail = (await admin.findKey(idOf(key))) as KeyDetail;
  expect(detail).toMatchObject({ state: 'unknown', needsAttention: true, nextAttemptAt: null });
  return { key, detail, seen: seenIn(detail) };
}

/** A page's form sends this back of a key. */
const seenIn = ({ tenant, principal, operation, key, revision }: KeyDetail): SeenCall => ({
  tenant,
  principal,
  operation,
  key,
  revision,
});

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

test('a thing that stays done for ever is found when its key is deleted', async () => {
  const admin = createAdmin({ prisma: database.client });
  await database.client.$executeRaw`
    INSERT INTO idempotency_things (tenant, operation, thing, is_forever) VALUES ('acme', 'invoice', 'forever-1', true)`;
  const found = async (filter: Partial<KeyFilter>) =>
    (await admin.listKeys({ ...filter, limit: 5, offset: 0 })).heldForever;
  const thing = { tenant: 'acme', operation: 'invoice', thing: 'forever-1' };
  expect(await found({ search: 'forever-' })).toEqual([thing]);
  expect(await found({ thing: 'forever-1', operation: 'invoice', tenant: 'acme' })).toEqual([thing]);
  for (const other of [{}, { thing: 'forever-' }, { search: 'forever-', tenant: 'globex' }])
    expect(await found(other)).toBeUndefined();
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
  // The derived key is what one looks for at the provider, and comes back with.
  const search = detail.phases[2]?.derivedKey?.slice(5, 30);
  for (const more of [{}, { state: 'unknown' } as const]) {
    const { rows } = await createAdmin({ prisma: database.client }).listKeys({ search, ...more, limit: 5, offset: 0 });
    expect(rows.map((row) => [row.key, row.reference])).toEqual([[key, null]]);
  }
  await database.client.idempotencyPhase.updateMany({ where: { key, kind: 'foreign' }, data: { reference: 'pi_1' } });
  const known = await createAdmin({ prisma: database.client }).listKeys({ search: 'pi_1', limit: 5, offset: 0 });
  expect(known.rows.map((row) => [row.key, row.reference])).toEqual([[key, 'pi_1']]);
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
    const again = (await on.admin.findKey(idOf(key))) as KeyDetail;
    expect(again).toMatchObject({ state: 'unknown' });
    const corrected = { kind: 'succeeded', reference: 'ch_seen' } as const;
    expect(await on.admin.resolve(seenIn(again), corrected, 'eve')).toBe('recorded');
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

  test.each(['failed', 'retry'] as const)(
    'S4 "%s" beside what was heard names it, or nothing is written',
    async (kind) => {
      const on = shop();
      const { key } = await unknownKey(on);
      const words = 'payment.succeeded ch_heard';
      await database.client.$transaction((tx) => on.idempotency.recordEvidence(tx, idOf(key), words, 'stripe'));
      const detail = (await on.admin.findKey(idOf(key))) as KeyDetail;
      expect(detail.heard).toBe(words);
      for (const overrules of [undefined, '', 'ch_heard'])
        expect(await on.admin.resolve(seenIn(detail), { kind, overrules }, 'eve')).toBe('refused');
      expect(await recordsOf(key, 'verdict')).toBe(0);
      expect(await on.admin.findKey(idOf(key))).toMatchObject({
        state: 'unknown',
        phases: [{}, {}, { verdict: null }],
      });
      expect(await on.admin.resolve(seenIn(detail), { kind, overrules: words }, 'eve')).toBe('recorded');
      const { rows } = await on.admin.audit({ ...idOf(key), limit: 10, offset: 0 });
      expect(rows).toMatchObject([{ type: 'verdict', detail: { verdict: kind, overrules: words } }]);
    },
  );

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

  test('a key of another principal, or of another revision, is not touched', async () => {
    const on = shop();
    const { key, seen } = await unknownKey(on);
    expect(await on.admin.resolve({ ...seen, principal: 'bob' }, { kind: 'failed' }, 'eve')).toBe('changed');
    for (const revision of ['', 'null', '["unknown"]', seen.revision.replace('1', '2')]) {
      expect(await on.admin.resolve({ ...seen, revision }, { kind: 'failed' }, 'eve')).toBe('changed');
    }
    expect(await on.admin.findKey(idOf(key))).toMatchObject({ state: 'unknown' });
    expect(await recordsOf(key, 'verdict')).toBe(0);
  });
});

describe('a verdict on a key that is not as it was when the page was made', () => {
  const succeeded = { kind: 'succeeded', reference: 'ch_seen' } as const;
  const seenNow = async ({ admin }: Shop, key: string) => seenIn((await admin.findKey(idOf(key))) as KeyDetail);
  const run = (sql: string, key: string) => database.client.$executeRawUnsafe(sql, key);
  const tokenOf = async (key: string) =>
    (await database.client.idempotencyKey.findFirstOrThrow({ where: { key } })).fencingToken;
  /** Lets the completer have a key that is unknown, or in progress and flagged. */
  const ask = async ({ idempotency }: Shop, key: string) => {
    await run(`UPDATE idempotency_keys SET next_attempt_at = now() - interval '1 s' WHERE key = $1`, key);
    await idempotency.completeKey(idOf(key));
  };
  /** A key in progress and at rest whose charge was answered by nobody, at a provider that is down; a person is asked. */
  const restingKey = async (on: Shop) => {
    const key = freshKey();
    await on.pay.execute({ key, payload: {} });
    await run('UPDATE idempotency_keys SET needs_attention = true WHERE key = $1', key);
    return key;
  };

  test('S4 a run that could not act upon the word before has come to nothing once more: the verdict counts', async () => {
    const on = shop({ fromReference: (id) => (id === 'typo' ? Promise.reject(new Error()) : Promise.resolve({ id })) });
    const { key, seen } = await unknownKey(on);
    expect(await on.admin.resolve(seen, { kind: 'succeeded', reference: 'typo' }, 'eve')).toBe('recorded');
    const [again, token] = [await seenNow(on, key), await tokenOf(key)];
    await ask(on, key);
    expect(await tokenOf(key)).toBeGreaterThan(token);
    expect(await on.admin.resolve(again, succeeded, 'eve')).toBe('recorded');
    expect(await on.admin.findKey(idOf(key))).toMatchObject({ state: 'succeeded' });
    expectCounted(provider.sends).toBe(1);
  });

  test('S4 asked about again meanwhile, in vain: the verdict counts', async () => {
    const on = shop({ lookup: async ({ order }) => provider.find(order), indeterminate: 'lookup', maxTries: 1 });
    provider.faults = ['after'];
    provider.says = 'nothing';
    const key = freshKey();
    expect(await on.pay.execute({ key, payload: {} })).toMatchObject({ code: 'outcome_unknown' });
    const [seen, lookups] = [await seenNow(on, key), provider.lookups];
    for (const says of ['nothing', 'pending'] as const) {
      provider.says = says;
      await ask(on, key);
    }
    expect(provider.lookups).toBe(lookups + 2);
    // Taken from one who has died with the charge under way, and asked about: it is unknown by now.
    await run(
      `UPDATE idempotency_keys SET state = 'in_progress', lease_until = now() - interval '1 s', needs_attention = true WHERE key = $1`,
      key,
    );
    expect((await on.admin.findKey(idOf(key)))?.revision).toBe(seen.revision);
    await ask(on, key);
    expect(await on.admin.findKey(idOf(key))).toMatchObject({ state: 'unknown' });
    expect(await on.admin.resolve(seen, succeeded, 'eve')).toBe('recorded');
    expect(await on.admin.findKey(idOf(key))).toMatchObject({ state: 'succeeded' });
  });

  test('S4 taken up meanwhile by one that died before it sent anything: the verdict counts', async () => {
    const on = shop({ indeterminate: 'retry', providerKeyTtlMs: 86_400_000, maxTries: 1 });
    provider.faults = ['after'];
    const key = await restingKey(on);
    const [seen, token] = [await seenNow(on, key), await tokenOf(key)];
    await run(`UPDATE idempotency_keys SET next_attempt_at = now() - interval '1 s' WHERE key = $1`, key);
    expect(await prismaStore(database.client).takeOver(idOf(key), 0, false)).toMatchObject({ state: 'in_progress' });
    expect(await tokenOf(key)).toBeGreaterThan(token);
    expect(await on.admin.resolve(seen, succeeded, 'eve')).toBe('recorded');
    expect(await on.admin.findKey(idOf(key))).toMatchObject({ state: 'succeeded' });
    expectCounted(provider.sends).toBe(1);
  });

  test('S4 sent again meanwhile, whatever that came to: changed', async () => {
    const on = shop({ indeterminate: 'retry', providerKeyTtlMs: 86_400_000, maxTries: 1 });
    provider.honoursKeys = true;
    provider.faults = ['before', 'before', 'refused'];
    const key = await restingKey(on);
    for (let sends = 2; sends <= 3; sends++) {
      const seen = await seenNow(on, key);
      await ask(on, key);
      expect(provider.sends).toBe(sends);
      expect(await on.admin.resolve(seen, { kind: 'failed' }, 'eve')).toBe('changed');
    }
    expect(await on.admin.resolve(await seenNow(on, key), { kind: 'failed' }, 'eve')).toBe('recorded');
    expect(await on.admin.findKey(idOf(key))).toMatchObject({ state: 'failed' });
  });

  test('S4 sent again behind a failover that has lost a send: as often as the page says, and changed', async () => {
    const on = shop();
    const { key, seen } = await unknownKey(on);
    await run(`UPDATE idempotency_phases SET last_sent_at = last_sent_at + interval '1 s' WHERE key = $1`, key);
    expect(await on.admin.resolve(seen, { kind: 'failed' }, 'eve')).toBe('changed');
  });

  test('S4 judged by somebody else in the same words: changed', async () => {
    const on = shop();
    const { key, seen } = await unknownKey(on);
    // Nobody acts upon it.
    const admin = createAdmin({ prisma: database.client });
    expect(await admin.resolve(seen, { kind: 'retry' }, 'eve')).toBe('recorded');
    const again = await seenNow(on, key);
    expect(await admin.resolve(again, { kind: 'retry' }, 'bob')).toBe('recorded');
    expect(await admin.resolve(again, { kind: 'retry' }, 'ann')).toBe('changed');
    expect(await recordsOf(key, 'verdict')).toBe(2);
  });

  test('a key of which no call was begun has nothing to judge', async () => {
    const on = shop();
    const key = freshKey();
    await database.client.idempotencyKey.create({
      data: {
        ...idOf(key),
        state: 'in_progress',
        needsAttention: true,
        leaseUntil: new Date(0),
        expiresAt: new Date(),
      },
    });
    const judge = async () => on.admin.resolve(await seenNow(on, key), { kind: 'failed' }, 'eve');
    expect(await judge()).toBe('changed');
    // Nor one whose call is done, nor a settled key that is flagged for the call that it leaves.
    const call = { ...idOf(key), name: 'charge_created', position: 1, kind: 'foreign', fencingToken: 1, sends: 1 };
    await database.client.idempotencyPhase.create({ data: { ...call, state: 'done', result: '{}' } });
    expect(await judge()).toBe('changed');
    await run(`UPDATE idempotency_phases SET state = 'started' WHERE key = $1`, key);
    await run(
      `UPDATE idempotency_keys SET state = 'failed', settled_at = now(), lease_until = NULL WHERE key = $1`,
      key,
    );
    expect(await judge()).toBe('changed');
    expect([await tokenOf(key), await recordsOf(key, 'verdict')]).toEqual([1, 0]);
  });

  test('S4 a webhook in between: changed, once for what it says', async () => {
    const on = shop();
    const { key, seen } = await unknownKey(on);
    const hear = () =>
      database.client.$transaction((tx) => on.idempotency.recordEvidence(tx, idOf(key), 'paid', 'stripe'));
    expect(await hear()).toBe('recorded');
    expect(await on.admin.resolve(seen, { kind: 'failed' }, 'eve')).toBe('changed');
    const again = await seenNow(on, key);
    expect(await hear()).toBe('recorded'); // a webhook that is delivered twice says nothing new
    expect(await on.admin.resolve(again, succeeded, 'eve')).toBe('recorded');
  });

  test('S4 an answer that came late, to an executor that was overtaken: changed', async () => {
    const on = shop();
    const { key } = await unknownKey(on);
    for (const token of [1, 2]) {
      const seen = await seenNow(on, key);
      await prismaStore(database.client).recordLateAnswer(idOf(key), {
        step: 'charge_created',
        token,
        isResult: false,
      });
      expect(await on.admin.resolve(seen, { kind: 'failed' }, 'eve')).toBe('changed');
    }
  });

  test.each([
    ['a webhook', 'changed', (tx, on, key) => on.idempotency.recordEvidence(tx, idOf(key), 'paid', 'stripe')],
    [
      'one who was about to ask',
      'recorded',
      (tx, _, key) => tx.$executeRaw`UPDATE idempotency_keys SET fencing_token = fencing_token + 1 WHERE key = ${key}`,
    ],
  ] satisfies [string, string, (tx: Tx, on: Shop, key: string) => Promise<unknown>][])(
    'S4 at the same moment as %s, which has the row and is not committed: %s',
    async (_, expected, meanwhile) => {
      const on = shop();
      const { key, seen } = await unknownKey(on);
      let resolved: Promise<string> | undefined;
      await database.client.$transaction(async (tx) => {
        await meanwhile(tx, on, key);
        resolved = on.admin.resolve(seen, succeeded, 'eve');
        resolved.catch(() => {}); // asserted below
        await until('the verdict waits for it', async () => {
          const [waiting] = await database.client.$queryRaw<[{ count: number }]>`
            SELECT count(*)::int AS count FROM pg_stat_activity
             WHERE datname = current_database() AND wait_event_type = 'Lock'`;
          return waiting.count > 0;
        });
      });
      expect(await resolved).toBe(expected);
      expect(await recordsOf(key, 'verdict')).toBe(expected === 'recorded' ? 1 : 0);
    },
  );
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

    await database.client
      .$executeRaw`UPDATE idempotency_keys SET lease_until = now() - interval '1 s', next_attempt_at = NULL,
      needs_attention = true WHERE key = ${key}`;
    expect(await on.admin.retryNow(seen, 'eve')).toBe('recorded');
    expect(await on.admin.findKey(idOf(key))).toMatchObject({ state: 'succeeded', needsAttention: false });
    expect(await on.admin.retryNow(seen, 'eve')).toBe('changed');
    expect(await recordsOf(key, 'retry')).toBe(1);
    expectCounted(provider.count(`secret-order-${key}`)).toBe(1);
  });
});
