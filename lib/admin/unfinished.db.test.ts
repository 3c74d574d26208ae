import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { checkWork } from '../cli/doctor/work.ts';
import { Provider } from '../engine/phases/phases.fixture.ts';
import { ANN, anything, effect, effects, freshKey, kit, rowsOf } from '../integration/kit.fixture.ts';
import { prismaStore } from '../store/prisma/store.ts';
import { createAdmin } from './index.ts';

/** Keys that are committed and not finished, and whose columns name nobody who would go on with them. */

let database: TestDatabase;
let sql: pg.Client;
beforeAll(async () => {
  database = await testDatabase();
  sql = new pg.Client({ connectionString: database.url });
  await sql.connect();
});
afterAll(async () => {
  await sql?.end();
  await database?.drop();
});
beforeEach(async () => {
  await database.client.idempotencyKey.deleteMany();
});

const admin = () => createAdmin({ prisma: database.client });
const seen = (key: string, operation: string, fencingToken = 1) => ({ ...ANN, operation, key, fencingToken });

/** A handler that ends its transaction itself, in a process that dies then: the claim is committed, the answer is not. */
async function unansweredKey() {
  const key = freshKey();
  await sql.query(
    `INSERT INTO idempotency_keys (tenant, principal, operation, key, state, expires_at)
     VALUES ($1, $2, 'checkout', $3, 'in_progress', now() + interval '25 h')`,
    [ANN.tenant, ANN.principal, key],
  );
  return key;
}

/** A payment in phases whose call was lost, and whose lease somebody has taken out of its row. */
async function leaselessKey() {
  const provider = new Provider();
  const idempotency = kit(database.client);
  const pay = idempotency.operation({ name: 'pay', schema: anything }).phases(async ({ atomic, foreign, key }) => {
    await atomic('order_created', async (tx) => await effect(tx, key));
    await foreign('charge_created', provider.call(key, { maxTries: 1 }));
  });
  const key = freshKey();
  provider.faults = ['before'];
  await pay.execute({ key, payload: {} });
  await sql.query(
    'UPDATE idempotency_keys SET lease_until = NULL, next_attempt_at = NULL, fencing_token = 2 WHERE key = $1',
    [key],
  );
  return { key, idempotency, provider };
}

async function expectSeen(key: string, operation: string) {
  const own = [expect.objectContaining({ key, operation, state: 'in_progress' })];
  const filters = [{ state: 'in_progress' }, { stuck: true }, { stuck: true, search: key }, { stuck: true, operation }];
  for (const filter of filters as { stuck: true }[]) {
    expect((await admin().listKeys({ ...filter, limit: 10, offset: 0 })).rows, JSON.stringify(filter)).toEqual(own);
  }
  expect(await admin().overview()).toMatchObject({
    counts: { in_progress: 1 },
    stuck: 1,
    oldestInProgressAt: expect.any(Date),
    storage: { rows: 1 },
  });
  expect(await prismaStore(database.client).countOpen(60_000)).toMatchObject([
    { operation, state: 'in_progress', count: 1, stuck: 1 },
  ]);
  const findings = await checkWork(sql, {
    hasMessaging: false,
    hasPhases: false,
    destinations: [],
    hasInbox: false,
    called: [],
  });
  expect(findings).toContainEqual(expect.objectContaining({ level: 'warning', says: '1 key waits for a person.' }));
  expect(await admin().erasePrincipal(ANN, 'eve')).toMatchObject({ unsettled: 1 });
}

describe('what is committed and not finished is listed, counted and reported, whatever its lease columns say', () => {
  test('a claim in one transaction, without its answer', async () => {
    await expectSeen(await unansweredKey(), 'checkout');
  });

  test('a key in phases without its lease', async () => {
    const { key } = await leaselessKey();
    await expectSeen(key, 'pay');
  });

  test('before the reaper has flagged it, and after', async () => {
    const key = await unansweredKey();
    expect(await prismaStore(database.client).reapKeys(10)).toBe(0);
    expectCounted(await rowsOf(database.client, key)).toMatchObject([{ state: 'in_progress', needsAttention: true }]);
    await expectSeen(key, 'checkout');
  });
});

test('an operation that no worker knows is named, with its keys', async () => {
  const { key, idempotency } = await leaselessKey();
  await unansweredKey();
  const view = createAdmin({ prisma: database.client, operations: [] });
  expect((await view.overview()).unlisted).toEqual(
    expect.arrayContaining(['pay', 'checkout'].map((operation) => ({ operation, count: 1 }))),
  );
  expect(await view.findKey(seen(key, 'pay'))).toMatchObject({ isListed: false });
  const informed = createAdmin({ prisma: database.client, operations: idempotency.operations() });
  expect((await informed.overview()).unlisted).toEqual([{ operation: 'checkout', count: 1 }]);
  expect(await informed.findKey(seen(key, 'pay'))).toMatchObject({ isListed: true });
  expect((await admin().overview()).unlisted).toEqual([]);
});

describe('a person gets it going', () => {
  test('releases a claim in one transaction, once: whatever its process still writes changes nothing', async () => {
    const key = await unansweredKey();
    expect(await admin().release(seen(key, 'checkout'), 'eve')).toBe('recorded');
    expect(await admin().release(seen(key, 'checkout'), 'eve')).toBe('changed');
    expectCounted(await rowsOf(database.client, key)).toMatchObject([
      { state: 'in_progress', fencingToken: 2, leaseUntil: expect.any(Date), needsAttention: false },
    ]);
  });

  test.each(['release', 'retryNow'] as const)('%s of a key in phases: the completer finishes it', async (how) => {
    const { key, idempotency, provider } = await leaselessKey();
    expect(await idempotency.completeDue()).toMatchObject({ taken: 0 });
    expect(await admin()[how](seen(key, 'pay', 2), 'eve')).toBe('recorded');
    expect(await idempotency.completeDue()).toMatchObject({ taken: 1, settled: 1 });
    expectCounted([provider.count(key), await effects(database.client, key)]).toEqual([1, 1]);
  });
});
