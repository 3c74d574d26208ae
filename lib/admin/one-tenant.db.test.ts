import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { type Admin, createAdmin } from './index.ts';

let database: TestDatabase;
let log: string[] = [];
const adminOf = (of: { tenant?: string | null }) =>
  createAdmin({ prisma: database.client, operations: [], log: ({ msg }) => void log.push(msg), ...of });
const ALL = { limit: 100, offset: 0 };
const idOf = (tenant: string, key: string) => ({ tenant, principal: 'ann', operation: 'pay', key });

beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());

const then = new Date(Date.now() - 3_600_000);
const settled = { settledAt: then, claimedAt: then, expiresAt: new Date(Date.now() + 3_600_000) };
const left = { ...settled, settledAt: null, leaseUntil: then, nextAttemptAt: then };

/** Ann has the same keys in each of two companies: one for each act. */
beforeEach(async () => {
  log = [];
  const { idempotencyKey, idempotencyPhase } = database.client;
  await Promise.all([idempotencyKey.deleteMany(), idempotencyPhase.deleteMany()]);
  for (const tenant of ['acme', 'globex']) {
    const call = { name: 'charge_created', position: 1, kind: 'foreign', state: 'started', fencingToken: 1, sends: 1 };
    await idempotencyKey.createMany({
      data: [
        { ...idOf(tenant, 'resolve'), ...left, state: 'unknown', leaseUntil: null, needsAttention: true },
        { ...idOf(tenant, 'retryNow'), ...left, state: 'in_progress' },
        { ...idOf(tenant, 'release'), ...left, state: 'in_progress' },
        { ...idOf(tenant, 'forget'), ...settled, state: 'succeeded', result: '{"v":1}' },
        { ...idOf(tenant, 'acknowledge'), ...settled, state: 'failed', needsAttention: true },
      ],
    });
    await idempotencyPhase.create({ data: { ...idOf(tenant, 'resolve'), ...call, derivedKey: `of ${tenant}` } });
  }
});

/** Each act that an admin has, on the key of a tenant that takes it. */
async function acts(admin: Admin, tenant: string) {
  const seen = async (key: string) => {
    const { fencingToken = -1, revision = '' } = (await adminOf({}).findKey(idOf(tenant, key))) ?? {};
    return { ...idOf(tenant, key), fencingToken, revision };
  };
  return {
    resolve: await admin.resolve(await seen('resolve'), { kind: 'failed' }, 'bob'),
    retryNow: await admin.retryNow(await seen('retryNow'), 'bob'),
    release: await admin.release(await seen('release'), 'bob'),
    fence: await admin.fence(idOf(tenant, `fence of ${tenant}`.replaceAll(' ', '-')), 'bob'),
    forget: await admin.forget(await seen('forget'), 'bob'),
    acknowledge: await admin.acknowledge(await seen('acknowledge'), 'bob'),
  };
}

/** All that the database holds of a tenant. */
async function stored(tenant: string) {
  const of = { where: { tenant } };
  const { idempotencyKey, idempotencyPhase, idempotencyEvent, idempotencyAudit } = database.client;
  return await Promise.all([
    idempotencyKey.findMany({ ...of, orderBy: { key: 'asc' } }),
    idempotencyPhase.findMany(of),
    idempotencyEvent.count(of),
    idempotencyAudit.count(of),
  ]);
}

test('an admin of one tenant acts on its keys as any admin does', async () => {
  const done = Object.values(await acts(adminOf({ tenant: 'globex' }), 'globex'));
  expect(done).toEqual(Array(6).fill('recorded'));
  expect(log).toHaveLength(6);
});

test('what an admin of one tenant does to the keys of another changes nothing, is not recorded and not logged', async () => {
  const before = await stored('acme');
  const admin = adminOf({ tenant: 'globex' });
  const { fence, ...others } = await acts(admin, 'acme');
  expect([fence, ...Object.values(others)]).toEqual(['refused', ...Array(5).fill('changed')]);
  const ann = { tenant: 'acme', principal: 'ann' };
  await expect(admin.erasePrincipal(ann, 'bob')).rejects.toThrow('nothing was done');
  await expect(admin.erasePrincipal({ principal: 'ann' }, 'bob')).rejects.toThrow('nothing was done');
  await expect(admin.record({ type: 'mailed', actor: 'bob', ...ann })).rejects.toThrow('nothing was done');
  expect(await stored('acme')).toEqual(before);
  expect(log).toEqual([]);
});

test('an admin of one tenant sees its keys and records alone', async () => {
  await adminOf({}).forget({ ...idOf('acme', 'forget'), fencingToken: 1 }, 'bob');
  await adminOf({}).record({ type: 'signed_in', actor: 'root' });
  const admin = adminOf({ tenant: 'globex' });
  await admin.record({ type: 'mailed', actor: 'bob', principal: 'ann' });
  expect(await admin.erasePrincipal({ tenant: 'globex', principal: 'ann' }, 'bob')).toMatchObject({ forgotten: 1 });
  for (const filter of [
    {},
    { stuck: true },
    { search: 'f' },
    { search: 'a', stuck: true },
    { state: 'failed' },
  ] as const) {
    const { rows } = await admin.listKeys({ ...filter, ...ALL });
    expect(new Set(rows.map(({ tenant }) => tenant)), JSON.stringify(filter)).toEqual(new Set(['globex']));
  }
  expect(await admin.listKeys({ tenant: 'acme', ...ALL })).toEqual({ rows: [], hasMore: false });
  expect(await admin.findKey(idOf('acme', 'resolve'))).toBeNull();
  expect(await admin.findKey(idOf('globex', 'resolve'))).toMatchObject({ phases: [{ derivedKey: 'of globex' }] });
  const { rows: records } = await admin.audit(ALL);
  expect(new Set(records.map(({ tenant }) => tenant))).toEqual(new Set(['globex']));
  expect(records.map(({ type }) => type)).toEqual(expect.arrayContaining(['mailed', 'erased', 'forgotten']));
  expect(await admin.audit({ tenant: 'acme', ...ALL })).toEqual({ rows: [], hasMore: false });
});

test('an admin of one tenant is told its counts, and none that are of all tenants together', async () => {
  await database.client.idempotencyKey.deleteMany({ where: { ...idOf('acme', 'forget') } });
  await database.client.idempotencyTally.create({
    data: { bucket: new Date(), operation: 'pay', outcome: 'replayed', count: 3 },
  });
  const since = new Date(Date.now() - 3_600_000);
  const [all, one] = [adminOf({}), adminOf({ tenant: 'globex' })];
  const counts = { unknown: 1, in_progress: 2, succeeded: 1, failed: 1 };
  expect(await one.overview()).toMatchObject({
    counts,
    stuck: 4,
    unlisted: [],
    duplicatesPrevented: null,
    storage: null,
  });
  expect(await all.overview()).toMatchObject({
    counts: { unknown: 2, in_progress: 4, succeeded: 1, failed: 2 },
    stuck: 8,
    unlisted: [{ operation: 'pay', count: 6 }],
    duplicatesPrevented: 3,
    storage: { rows: 9 },
  });
  expect([await one.outcomes(since), await all.outcomes(since)]).toMatchObject([[], [{ count: 3 }]]);
});

test('no admin of all tenants comes of a tenant that was not found', async () => {
  for (const tenant of [undefined, '', 'a\0', 7, {}]) {
    expect(() => adminOf({ tenant: tenant as string }), String(tenant)).toThrow(
      'The tenant of createAdmin cannot be used.',
    );
  }
  for (const of of [{}, { tenant: null }]) expect((await adminOf(of).listKeys(ALL)).rows).toHaveLength(10);
});
