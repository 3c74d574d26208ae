import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { createClient } from '../../shop/db.ts';
import { Provider } from '../engine/phases/phases.fixture.ts';
import { ANN, anything, effect, effects, freshKey, gate, kit, rowsOf } from '../integration/kit.fixture.ts';
import { type AuditLogEntry, createAdmin, type OnErase, type SeenCall, type SeenKey } from './index.ts';

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

const run = (sql: string, ...values: unknown[]) => database.client.$executeRawUnsafe(sql, ...values);
const idOf = (key: string) => ({ ...ANN, operation: 'pay', key });
const ALL = { limit: 100, offset: 0 };
const sql = (error: unknown) => String((error as Error).message);

/** A payment at a provider that has no keys and cannot be asked, its admin, and what the admin's log was told. */
function shop(options: { onErase?: OnErase<never> } = {}) {
  const idempotency = kit(database.client);
  const pay = idempotency.operation({ name: 'pay', schema: anything }).phases(async ({ atomic, foreign, key }) => {
    await atomic('order_created', async (tx) => {
      await effect(tx, `${key}:order`);
      return 'secret-step';
    });
    const how = {
      indeterminate: 'unknown',
      providerKeyTtlMs: 0,
      fromReference: async (id: string) => ({ id }),
    } as const;
    const { id } = await foreign('charge_created', provider.call(key, how));
    return { secret: id };
  });
  const lines: AuditLogEntry[] = [];
  const log = (entry: AuditLogEntry) => void lines.push(entry);
  const admin = createAdmin({ prisma: database.client, log, ...options } as never);
  const seen = async (key: string): Promise<SeenKey & SeenCall> => {
    const { fencingToken = 1, revision = '' } = (await admin.findKey(idOf(key))) ?? {};
    return { ...idOf(key), fencingToken, revision };
  };
  const ways = {
    verdict: async () => {
      provider.faults = ['after'];
      const key = freshKey();
      await pay.execute({ key, payload: { card: 'secret-input' } });
      return { key, act: async (actor: string) => admin.resolve(await seen(key), { kind: 'retry' }, actor) };
    },
    retry: async () => {
      provider.faults = ['after'];
      const key = freshKey();
      await pay.execute({ key, payload: { card: 'secret-input' } });
      return { key, act: async (actor: string) => admin.retryNow(await seen(key), actor) };
    },
    released: async () => {
      provider.faults = ['after'];
      const key = freshKey();
      await pay.execute({ key, payload: { card: 'secret-input' } });
      await run(
        `UPDATE idempotency_keys SET state = 'in_progress', lease_until = now() - interval '1 s' WHERE key = $1`,
        key,
      );
      await run(`UPDATE idempotency_phases SET keys_until = now() + interval '1 h' WHERE key = $1`, key);
      return { key, act: async (actor: string) => admin.release(await seen(key), actor) };
    },
    fenced: async () => {
      const key = freshKey();
      return { key, act: (actor: string) => admin.fence(idOf(key), actor) };
    },
    forgotten: async () => {
      const key = freshKey();
      await pay.execute({ key, payload: { card: 'secret-input' } });
      return { key, act: async (actor: string) => admin.forget(await seen(key), actor) };
    },
    acknowledged: async () => {
      const key = freshKey();
      await pay.execute({ key, payload: { card: 'secret-input' } });
      await run('UPDATE idempotency_keys SET needs_attention = true WHERE key = $1', key);
      return { key, act: async (actor: string) => admin.acknowledge(await seen(key), actor) };
    },
  };
  return { idempotency, pay, admin, lines, ways };
}

const WAYS = ['verdict', 'retry', 'released', 'fenced', 'forgotten', 'acknowledged'] as const;

/** The row of a key, as the reaper leaves it: gone. */
async function reapKey(idempotency: ReturnType<typeof kit>, key: string) {
  await run(
    `UPDATE idempotency_keys
        SET state = CASE WHEN settled_at IS NULL THEN 'failed' ELSE state END, result = NULL, input = NULL, lease_until = NULL, next_attempt_at = NULL, needs_attention = false,
            settled_at = claimed_at, claimed_at = now() - interval '9 days', expires_at = now() - interval '8 days'
      WHERE key = $1`,
    key,
  );
  await idempotency.reap();
  expectCounted(await rowsOf(database.client, key)).toEqual([]);
}

describe.each(WAYS)('A7 %s', (type) => {
  test('is recorded with its actor, outlives its key, and is to be found by it', async () => {
    const { idempotency, admin, ways } = shop();
    const { key, act } = await ways[type]();
    expect(await act('eve')).toBe('recorded');
    const record = { type, actor: 'eve', ...idOf(key), at: expect.any(Date) };
    const { events } = (await admin.findKey(idOf(key))) ?? { events: [] };
    expect(events.filter((event) => event.type === type)).toMatchObject([{ type, actor: 'eve' }]);
    await reapKey(idempotency, key);
    expect(await admin.findKey(idOf(key))).toBeNull();
    expect(await admin.audit({ ...idOf(key), ...ALL })).toMatchObject({ rows: [record], hasMore: false });
  });

  test('is not done where it cannot be recorded: one transaction', async () => {
    const { ways, lines } = shop();
    const { key, act } = await ways[type]();
    const before = await database.client.idempotencyKey.findMany({ where: { key } });
    await run(`ALTER TABLE idempotency_audit ADD CONSTRAINT no_eve CHECK (actor <> 'eve') NOT VALID`);
    try {
      await expect(act('eve')).rejects.toThrow(/no_eve/);
    } finally {
      await run('ALTER TABLE idempotency_audit DROP CONSTRAINT no_eve');
    }
    expect(await database.client.idempotencyKey.findMany({ where: { key } })).toEqual(before);
    expect(lines).toEqual([]);
  });

  test('leaves one line in the log, which holds nothing that was sent or stored; a second click leaves none', async () => {
    const { ways, lines } = shop();
    const { key, act } = await ways[type]();
    await act('eve');
    expect(lines).toEqual([{ level: 'info', msg: `audit: ${type}`, actor: 'eve', ...idOf(key) }]);
    // `retry` may be said again: it decides nothing. So does a verdict, under the token that it was given.
    if (['fenced', 'forgotten', 'acknowledged'].includes(type)) {
      expect(await act('eve')).toBe('changed');
      expect(lines).toHaveLength(1);
    }
    expect(JSON.stringify(lines)).not.toContain('secret');
  });
});

test('a client that gives a key up leaves a note on it, and no record of a person', async () => {
  const { pay, admin } = shop();
  const key = freshKey();
  expect(await pay.fence({ key })).toMatchObject({ fenced: true });
  expect(await admin.findKey(idOf(key))).toMatchObject({ events: [{ type: 'fenced', actor: 'client' }] });
  expect(await admin.audit({ key, ...ALL })).toEqual({ rows: [], hasMore: false });
});

test('a log that fails changes nothing of what was done', async () => {
  const key = freshKey();
  const log = () => Promise.reject(new Error('the disk is full'));
  const admin = createAdmin({ prisma: database.client, log });
  expect(await admin.fence(idOf(key), 'eve')).toBe('recorded');
});

describe('the table', () => {
  const old = (key: string, age: string) =>
    run(
      `INSERT INTO idempotency_audit (at, actor, type, key) VALUES (now() - $2::interval, 'eve', 'kept', $1)`,
      key,
      age,
    );
  const kept = async () =>
    (await database.client.idempotencyAudit.findMany({ where: { type: 'kept' }, orderBy: { at: 'asc' } })).map(
      ({ key }) => key,
    );

  test('is append-only: nothing is changed, and nothing younger than 30 days goes', async () => {
    await old('young', '29 days');
    await old('old', '31 days');
    for (const statement of [
      `UPDATE idempotency_audit SET actor = 'somebody else' WHERE key = 'old'`,
      `DELETE FROM idempotency_audit WHERE key = 'young'`,
      'DELETE FROM idempotency_audit',
      'TRUNCATE idempotency_audit',
    ]) {
      expect(await run(statement).then(() => 'done', sql), statement).toMatch(/of idempotency_audit is refused/);
    }
    expect(await kept()).toEqual(['old', 'young']);
    await run(`DELETE FROM idempotency_audit WHERE key = 'old'`);
    expect(await kept()).toEqual(['young']);
  });

  test('of what people did to messages is the same; what machines noted goes with its message', async () => {
    const add = (type: string, age: string) =>
      run(
        `INSERT INTO message_events (at, box, peer, type, actor) VALUES (now() - $2::interval, 'inbox', 'bank', $1, 'eve')`,
        type,
        age,
      );
    for (const type of ['requeued', 'skipped', 'abandoned', 'resumed']) {
      await add(type, '719 hours');
      expect(await run(`DELETE FROM message_events WHERE type = $1`, type).then(() => 'done', sql)).toMatch(
        /is refused/,
      );
    }
    await add('requeued', '721 hours');
    await add('payload_mismatch', '1 hour');
    for (const statement of [`UPDATE message_events SET actor = 'nobody'`, 'TRUNCATE message_events']) {
      expect(await run(statement).then(() => 'done', sql), statement).toMatch(/of message_events is refused/);
    }
    await run(`DELETE FROM message_events WHERE type = 'payload_mismatch' OR at < now() - interval '720 hours'`);
    expect(await database.client.messageEvent.count()).toBe(4);
  });

  test('is reaped past a retention of its own, in batches, and by no other', async () => {
    await old('two years', '730 days');
    await old('a year and a day', '366 days');
    await old('a year', '364 days');
    await kit(database.client).reap({ batch: 1 });
    expect(await kept()).toEqual(['a year', 'young']);
    await kit(database.client, { auditRetention: '100d' }).reap({ batch: 1 });
    expect(await kept()).toEqual(['young']);
    expect(() => kit(database.client, { auditRetention: '29d' })).toThrow('auditRetention cannot be used.');
  });

  test('is reaped after 30 days of 24 hours, also where a clock has been put back meanwhile', async () => {
    const day = (ago: number) => {
      const at = new Date(Date.now() - ago * 86_400_000);
      return `J${Math.max(1, Math.round((at.getTime() - Date.UTC(at.getUTCFullYear(), 0, 1)) / 86_400_000))}`;
    };
    // Summer time has begun a hundred days ago, and ended ten days ago.
    const options = encodeURIComponent(`-c TimeZone=XST0XDT,${day(100)},${day(10)}`);
    const client = createClient(`${database.url}?options=${options}`, { max: 1 });
    try {
      const [{ hours }] = await client.$queryRaw<[{ hours: number }]>`
        SELECT extract(epoch FROM now() - (now() - interval '30 days'))::int / 3600 AS hours`;
      expect(hours).toBe(721);
      await old('thirty days', '720 hours 1 minute');
      await kit(client, { auditRetention: '30d' }).reap();
      expect(await kept()).toEqual(['young']);
    } finally {
      await client.$disconnect();
    }
  });
});

test('records are found by who, whose, which and what, newest first, page by page', async () => {
  const { admin } = shop();
  const [one, other] = [freshKey(), freshKey()];
  await admin.fence(idOf(one), 'zoe');
  await admin.fence({ ...idOf(other), principal: 'bob' }, 'zoe');
  await admin.record({ type: 'signed_in', actor: 'zoe', detail: { address: '::1' } });
  const find = async (filter: object) =>
    (await admin.audit({ ...ALL, ...filter })).rows.map(({ type, key }) => type + key);
  expect(await find({ actor: 'zoe' })).toEqual(['signed_in', `fenced${other}`, `fenced${one}`]);
  expect(await find({ actor: 'zoe', principal: 'bob' })).toEqual([`fenced${other}`]);
  expect(await find({ actor: 'zoe', type: 'signed_in' })).toEqual(['signed_in']);
  expect(await find({ key: one })).toEqual([`fenced${one}`]);
  const page = { actor: 'zoe', limit: 2, offset: 0 };
  expect(await admin.audit(page)).toMatchObject({ hasMore: true, rows: [{ detail: { address: '::1' } }, {}] });
  expect(await admin.audit({ ...page, offset: 2 })).toMatchObject({ hasMore: false, rows: [{ key: one }] });
});

describe('erasing a person', () => {
  const who = (principal: string, aliases?: string[]) => ({
    tenant: 'acme',
    principal,
    ...(aliases ? { aliases } : {}),
  });

  const stored = async (key: string) => (await rowsOf(database.client, key))[0]?.result;

  test('is recorded also where nothing was stored', async () => {
    const { admin, lines } = shop();
    expect(await admin.erasePrincipal(who('nobody'), 'eve')).toMatchObject({ forgotten: 0, unsettled: 0 });
    expect(await admin.audit({ principal: 'nobody', ...ALL })).toMatchObject({
      rows: [{ type: 'erased', actor: 'eve', tenant: 'acme', operation: '', key: '', detail: { keys: '0' } }],
    });
    expect(lines).toEqual([{ level: 'info', msg: 'audit: erased', actor: 'eve', tenant: 'acme', principal: 'nobody' }]);
  });

  test('covers their aliases, each once, and nobody of the same name elsewhere', async () => {
    const { admin, pay, lines } = shop();
    const [signedIn, before, elsewhere] = [freshKey(), freshKey(), freshKey()];
    await pay.execute({ key: signedIn, payload: {}, scope: who('dora') });
    await pay.execute({ key: before, payload: {}, scope: who('anonymous-7') });
    await pay.execute({ key: elsewhere, payload: {}, scope: { tenant: 'other', principal: 'anonymous-7' } });
    const erased = await admin.erasePrincipal(who('dora', ['anonymous-7', 'dora', 'anonymous-7']), 'eve');
    expect(erased).toMatchObject({ forgotten: 2, unsettled: 0 });
    expect([await stored(signedIn), await stored(before)]).toEqual([null, null]);
    expect(await stored(elsewhere)).toContain('secret');
    for (const principal of ['dora', 'anonymous-7']) {
      const { rows } = await admin.audit({ tenant: 'acme', principal, type: 'erased', ...ALL });
      expect(rows).toMatchObject([{ detail: { names: 'dora, anonymous-7', keys: '2' } }]);
    }
    expect(lines.map(({ principal }) => principal)).toEqual(['dora', 'anonymous-7']);
  });

  test('erases what is the app’s own in the same transaction, and names what it leaves', async () => {
    const key = freshKey();
    const onErase: OnErase<never> = async ({ tenant, names }, tx) => {
      await effect(tx, `${key}:${tenant}:${names.join('+')}`);
      return { erased: { mails: 3 }, left: ['orders, for the books'] };
    };
    const { admin, pay } = shop({ onErase });
    provider.faults = ['after'];
    await pay.execute({ key, payload: { card: 'secret-input' }, scope: who('frank') });
    const erased = await admin.erasePrincipal(who('frank', ['f-1']), 'eve');
    expectCounted(await effects(database.client, `${key}:acme:frank+f-1`)).toBe(1);
    expect(erased).toEqual({
      forgotten: 0,
      unsettled: 1,
      erased: { mails: 3 },
      left: [
        'keys, without their answers, until they expire',
        'answers of calls that were running meanwhile: erase again when the longest of them is over',
        'what is stored of keys that are not settled, or wait for a person',
        'payloads of events in the outbox and the inbox',
        'the audit, this erasure included',
        'orders, for the books',
      ],
    });
    const [record] = (await admin.audit({ principal: 'frank', type: 'erased', ...ALL })).rows;
    expect(record?.detail).toEqual({
      names: 'frank, f-1',
      keys: '0',
      unsettled: '1',
      mails: '3',
      left: erased.left.join('; '),
    });
  });

  test('says that a call which runs meanwhile is not erased, and the next erasure finds it', async () => {
    const { admin } = shop();
    const [isRunning, end] = [gate(), gate()];
    const handler = async () => {
      isRunning.open();
      await end.opened;
      return { street: 'secret-street' };
    };
    const order = kit(database.client)
      .operation({ name: 'order', schema: anything, timeoutMs: 60_000 })
      .handler(handler);
    const key = freshKey();
    const running = order.execute({ key, payload: {}, scope: who('ina') });
    await isRunning.opened;
    const { unsettled, left } = await admin.erasePrincipal(who('ina'), 'eve');
    expect([unsettled, left]).toEqual([0, expect.arrayContaining([expect.stringMatching(/running.*erase again/)])]);
    end.open();
    await running;
    expect(await stored(key)).toContain('secret-street');
    expect(await admin.erasePrincipal(who('ina'), 'eve')).toMatchObject({ forgotten: 1 });
    expect(await stored(key)).toBeNull();
  });

  test('is undone, record and all, where the app’s own erasing fails', async () => {
    const key = freshKey();
    const onErase: OnErase<never> = async (_, tx) => {
      await effect(tx, `${key}:half`);
      throw new Error('the mailbox is locked');
    };
    const { admin, pay, lines } = shop({ onErase });
    await pay.execute({ key, payload: {}, scope: who('gina') });
    await expect(admin.erasePrincipal(who('gina'), 'eve')).rejects.toThrow('the mailbox is locked');
    expectCounted((await rowsOf(database.client, key))[0]?.result).toContain('secret');
    expectCounted(await effects(database.client, `${key}:half`)).toBe(0);
    expect([await admin.audit({ principal: 'gina', ...ALL }), lines]).toEqual([{ rows: [], hasMore: false }, []]);
  });

  test('says that nobody erased the app’s own rows, where nobody was asked to', async () => {
    const { left } = await shop().admin.erasePrincipal(who('hugo'), 'eve');
    expect(left).toContain('rows of your own: createAdmin has no onErase');
  });
});
