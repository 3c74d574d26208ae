import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { expectCounted } from '../../../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../../../scripts/testing/test-database.ts';
import { until } from '../../../../scripts/testing/until.ts';
import { createClient } from '../../../../shop/db.ts';
import { gate } from '../../contract-harness.fixture.ts';
import type { Store } from '../../store.ts';
import type { TransactionOf } from '../client.ts';
import { prismaStore } from '../store.ts';
import { REAP, reapKeys } from './reap.ts';

type Client = TestDatabase['client'];
type State = 'in_progress' | 'succeeded' | 'failed' | 'unknown' | 'abandoned';

const STATES: State[] = ['in_progress', 'succeeded', 'failed', 'unknown', 'abandoned'];
const SETTLED: State[] = ['succeeded', 'failed', 'abandoned'];

let database: TestDatabase;
let client: Client;
let store: Store<TransactionOf<Client>>;

beforeAll(async () => {
  database = await testDatabase({ max: 4, ownsTables: true });
  client = database.client;
  store = prismaStore(client);
});
afterAll(() => database?.drop());
beforeEach(async () => {
  await client.$executeRaw`DELETE FROM idempotency_keys`;
  await client.$executeRaw`DELETE FROM idempotency_events`;
});

/** Rows named `prefix-1`, `prefix-2`, …: the first is the one that is expired longest, or that expires first. */
async function rows(prefix: string, when: 'expired' | 'live', { state = 'succeeded' as State, count = 1 } = {}) {
  const hours = when === 'expired' ? -2 : 2;
  // The lease and the pause are over as well: nothing but the state keeps a row that is not settled.
  await client.$executeRaw`
    INSERT INTO idempotency_keys
      (tenant, principal, operation, key, state, claimed_at, settled_at, expires_at, lease_until, next_attempt_at, needs_attention)
    SELECT 'acme', 'ann', 'checkout', ${prefix} || '-' || n, ${state}, now() - interval '9 hours',
           CASE WHEN ${SETTLED.includes(state)} THEN now() - interval '8 hours' END,
           now() + ${hours} * interval '1 hour' + n * interval '1 second',
           CASE WHEN ${state === 'in_progress'} THEN now() - interval '8 hours' END,
           CASE WHEN ${state === 'in_progress'} THEN now() - interval '8 hours' END,
           ${state === 'unknown'}
      FROM generate_series(1, ${count}::int) n`;
}

async function keys(): Promise<string[]> {
  const found = await client.idempotencyKey.findMany({ select: { key: true }, orderBy: { expiresAt: 'asc' } });
  return found.map(({ key }) => key);
}

async function withStepAndEvent(key: string, principal = 'ann') {
  const id = { tenant: 'acme', principal, operation: 'checkout', key };
  const step = { name: 'order_created', position: 1, kind: 'atomic', state: 'done', fencingToken: 1 };
  await client.idempotencyPhase.create({ data: { ...id, ...step } });
  await store.recordEvent(id, { type: 'payload_mismatch', actor: 'client', detail: null });
  return id;
}

test('K5 P5 of all rows only the expired and settled ones go', async () => {
  for (const state of STATES) {
    await rows(`${state}-expired`, 'expired', { state });
    await rows(`${state}-live`, 'live', { state });
  }
  expect(await store.reapKeys(100)).toBe(SETTLED.length);
  const kept = ['in_progress-expired-1', 'unknown-expired-1', ...STATES.map((state) => `${state}-live-1`)];
  expect((await keys()).sort()).toEqual(kept.sort());
  expect(await store.reapKeys(100)).toBe(0);
});

test('K5 a row goes from the moment of its expiry on, by the clock of the database', async () => {
  await rows('key', 'live', { count: 2 });
  await client.$executeRaw`UPDATE idempotency_keys SET expires_at = clock_timestamp() - interval '1 s' WHERE key = 'key-1'`;
  await client.$executeRaw`UPDATE idempotency_keys SET expires_at = clock_timestamp() + interval '1 minute' WHERE key = 'key-2'`;
  expect(await store.reapKeys(100)).toBe(1);
  expect(await keys()).toEqual(['key-2']);
});

test('P5 a batch takes as many as it may, those that expired first', async () => {
  await rows('old', 'expired', { count: 25 });
  await rows('new', 'live', { count: 5 });
  expect(await store.reapKeys(10)).toBe(10);
  expect((await keys()).slice(0, 2)).toEqual(['old-11', 'old-12']);
  expect([await store.reapKeys(10), await store.reapKeys(10), await store.reapKeys(10)]).toEqual([10, 5, 0]);
  expect(await keys()).toEqual(['new-1', 'new-2', 'new-3', 'new-4', 'new-5']);
});

test('P5 what is not settled does not use up the batch, however old', async () => {
  await rows('asked', 'expired', { state: 'unknown', count: 20 });
  await client.$executeRaw`UPDATE idempotency_keys SET expires_at = expires_at - interval '1 hour'`;
  await rows('old', 'expired', { count: 3 });
  expect(await store.reapKeys(3)).toBe(3);
  expect(await client.idempotencyKey.count({ where: { state: 'unknown' } })).toBe(20);
});

test('P5 steps and events go with their key; those of all others stay', async () => {
  await rows('old', 'expired');
  await rows('new', 'live');
  await rows('asked', 'expired', { state: 'unknown' });
  // The same key of somebody else: it is found by the whole of its name, never by the key alone.
  await client.$executeRaw`
    INSERT INTO idempotency_keys (tenant, principal, operation, key, state, claimed_at, expires_at)
    VALUES ('acme', 'bob', 'checkout', 'old-1', 'in_progress', now(), now() + interval '1 hour')`;
  const old = await withStepAndEvent('old-1');
  const others = [
    await withStepAndEvent('new-1'),
    await withStepAndEvent('asked-1'),
    await withStepAndEvent('old-1', 'bob'),
  ];
  expect(await store.reapKeys(100)).toBe(1);
  expect([await store.steps(old), await store.events(old)]).toEqual([[], []]);
  for (const id of others) expect([await store.steps(id), await store.events(id)]).toMatchObject([[{}], [{}]]);
  expect(await client.idempotencyPhase.count()).toBe(3);
  expect(await client.idempotencyEvent.count()).toBe(3);
});

test('A6 with a key goes what it has left with those that it has answered, and nothing else of theirs', async () => {
  await rows('old', 'expired');
  await rows('new', 'live');
  const of = (key: string, principal = 'ann') => ({ tenant: 'acme', principal, operation: 'checkout', key });
  const follower = of('second', 'alias');
  for (const holder of ['old-1', 'new-1']) await store.recordFollower(of(holder), follower);
  await store.recordEvent(follower, { type: 'payload_mismatch', actor: 'client', detail: { key: 'old-1' } });
  expect(await store.reapKeys(100)).toBe(1);
  const left = await store.events(follower);
  expect(left.map(({ type, detail }) => [type, detail])).toEqual([
    ['answered_by', { key: 'new-1' }],
    ['payload_mismatch', { key: 'old-1' }],
  ]);
});

test('K5 orders and audit records stay when their key goes', async () => {
  await rows('old', 'expired');
  const who = { tenant: 'acme', principal: 'ann' };
  const goods = { sku: 'mug', quantity: 1, amountCents: 1800, status: 'cancelled', paymentMethod: 'pm_card_visa' };
  const order = { ...who, ...goods, id: randomUUID(), source: 'checkout', idempotencyKey: 'old-1' };
  await client.order.create({ data: order });
  await client.auditRecord.create({ data: { ...who, action: 'order.placed', orderId: order.id } });
  expect(await store.reapKeys(100)).toBe(1);
  expect(await client.order.findUnique({ where: { id: order.id } })).toMatchObject(order);
  expectCounted(await client.auditRecord.count({ where: { orderId: order.id } })).toBe(1);
});

test.each(['commit', 'roll back'])('P5 a reaper takes what another has not, at once: before its %s', async (how) => {
  await rows('old', 'expired', { count: 30 });
  const taken = gate();
  const end = gate();
  const slow = client
    .$transaction(
      async (tx) => {
        expect(await reapKeys(tx, 10)).toBe(10);
        taken.open();
        await end.opened;
        if (how === 'roll back') throw new Error('rolled back');
      },
      { timeout: 20_000 },
    )
    .catch(() => {});
  await taken.opened;
  // The other is not finished, so an answer proves that it was not waited for.
  expect([await store.reapKeys(15), await store.reapKeys(15)]).toEqual([15, 5]);
  end.open();
  await slow;
  const left = how === 'commit' ? 0 : 10;
  expect(await keys()).toHaveLength(left);
  expect(await store.reapKeys(100)).toBe(left);
});

test('P5 two reapers at once delete each row once', async () => {
  await rows('old', 'expired', { count: 500 });
  await rows('new', 'live', { count: 20 });
  const other = createClient(database.url, { max: 1 });
  const rival = prismaStore(other);
  await rival.reapKeys(0); // connected, so that both begin at once
  const all = async (each: { reapKeys(limit: number): Promise<number> }) => {
    let sum = 0;
    for (let last = 1; last > 0; sum += last) last = await each.reapKeys(7);
    return sum;
  };
  const [mine, theirs] = await Promise.all([all(store), all(rival)]);
  await other.$disconnect();
  expect(mine + theirs).toBe(500);
  expect(Math.min(mine, theirs), 'each has a share of it').toBeGreaterThan(0);
  expect(await keys()).toHaveLength(20);
});

test('P5 a row that somebody holds is passed over, not waited for, and goes later', async () => {
  await rows('old', 'expired', { count: 3 });
  const held = gate();
  const end = gate();
  const holding = client.$transaction(
    async (tx) => {
      await tx.$queryRaw`SELECT 1 FROM idempotency_keys WHERE key = 'old-2' FOR UPDATE`;
      held.open();
      await end.opened;
    },
    { timeout: 20_000 },
  );
  await held.opened;
  expect(await store.reapKeys(100)).toBe(2);
  expect(await keys()).toEqual(['old-2']);
  expect(await store.reapKeys(100)).toBe(0);
  end.open();
  await holding;
  expect(await store.reapKeys(100)).toBe(1);
});

test('P5 a batch goes on where the one before has ended, and in the end goes back to what was passed over', async () => {
  await rows('old', 'expired', { count: 25 });
  const held = gate();
  const end = gate();
  const holding = client.$transaction(
    async (tx) => {
      await tx.$queryRaw`SELECT 1 FROM idempotency_keys WHERE key = 'old-1' FOR UPDATE`;
      held.open();
      await end.opened;
    },
    { timeout: 20_000 },
  );
  await held.opened;
  expect(await store.reapKeys(10)).toBe(10);
  end.open();
  await holding;
  expect(await store.reapKeys(10)).toBe(10);
  expect(await keys()).toEqual(['old-1', 'old-22', 'old-23', 'old-24', 'old-25']);
  expect(await store.reapKeys(10)).toBe(5);
});

test('P5 a row whose expiry its holder has put off stays', async () => {
  await rows('old', 'expired', { count: 2 });
  await client.$transaction(async (tx) => {
    await tx.$executeRaw`UPDATE idempotency_keys SET expires_at = now() + interval '1 hour' WHERE key = 'old-1'`;
    expect(await store.reapKeys(100)).toBe(1);
  });
  expect(await store.reapKeys(100)).toBe(0);
  expect(await keys()).toEqual(['old-1']);
});

test.each([
  ['', REAP],
  [', where a lock is worth nothing, too', REAP.replace('FOR UPDATE SKIP LOCKED', '')],
])('K5 a row that changes between choice and delete stays%s', async (_, text) => {
  await rows('old', 'expired', { count: 2 });
  // Holds the reaper up in the middle of its DELETE, at its first row.
  await client.$executeRawUnsafe(`CREATE FUNCTION hold_up() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF OLD.key = 'old-1' THEN PERFORM pg_advisory_xact_lock(22); END IF;
    RETURN OLD; END $$`);
  await client.$executeRawUnsafe(`CREATE TRIGGER hold_up BEFORE DELETE ON idempotency_keys
    FOR EACH ROW EXECUTE FUNCTION hold_up()`);
  const other = createClient(database.url, { max: 4 });
  const isWaiting = async () =>
    (
      await other.$queryRaw<unknown[]>`
      SELECT 1 FROM pg_locks JOIN pg_database d ON d.oid = database AND datname = current_database()
       WHERE locktype = 'advisory' AND objid = 22 AND NOT granted`
    ).length > 0;
  let reaped: Promise<[{ count: number }]> | undefined;
  let isChanged = false;
  try {
    await other.$transaction(
      async (tx) => {
        await tx.$queryRaw`SELECT pg_advisory_xact_lock(22)::text`;
        reaped = other.$queryRawUnsafe(text, 100, null) as typeof reaped;
        reaped?.catch(() => {}); // sent by this
        await until('the reaper is held up', isWaiting);
        // Locked by the reaper, or not chosen yet: then the change is committed before its turn comes.
        isChanged = await other
          .$transaction([
            other.$executeRaw`SET LOCAL lock_timeout = '200ms'`,
            other.$executeRaw`UPDATE idempotency_keys SET expires_at = now() + interval '1 hour' WHERE key = 'old-2'`,
          ])
          .then(() => true)
          .catch(() => false);
      },
      { timeout: 20_000 },
    );
    expect(isChanged).toBe(text !== REAP);
    expect(await reaped).toMatchObject([{ count: isChanged ? 1 : 2 }]);
    expect(await keys()).toEqual(isChanged ? ['old-2'] : []);
  } finally {
    await client.$executeRawUnsafe('DROP FUNCTION hold_up CASCADE');
    await other.$disconnect();
  }
});
