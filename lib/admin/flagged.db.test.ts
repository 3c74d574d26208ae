import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { checkWork } from '../cli/doctor/work.ts';
import { encodeStep } from '../engine/answer.ts';
import { ANN, pastTriggers } from '../integration/kit.fixture.ts';
import { prismaStore } from '../store/prisma/store.ts';
import { createAdmin } from './index.ts';

/** Keys that have settled, and that a person must look at all the same: a call of theirs may stand at the provider. */

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

const admin = (operations?: { name: string }[]) => createAdmin({ prisma: database.client, operations });
const store = () => prismaStore(database.client);
const seen = (key: string, fencingToken = 3) => ({ ...ANN, operation: 'pay', key, fencingToken });
const recordsOf = (key: string) =>
  database.client.idempotencyAudit.findMany({ where: { key }, select: { type: true, actor: true } });

const KEPT = encodeStep('result of charge', { id: 'secret' });

/** A refusal behind a charge that was done, whose result was kept. */
async function flaggedKey(key: string, { needsAttention = true, expired = false } = {}) {
  const now = Date.now();
  const past = new Date(now - 172_800_000);
  const times = { claimedAt: past, settledAt: past, expiresAt: new Date(now + (expired ? -1 : 1) * 108_000_000) };
  const id = { ...ANN, operation: 'pay', key };
  await database.client.idempotencyKey.create({
    data: { ...id, ...times, state: 'failed', fencingToken: 3, result: '{"v":1}', needsAttention },
  });
  const call = { kind: 'foreign', state: 'done', fencingToken: 2, sends: 1, finishedAt: past } as const;
  await database.client.idempotencyPhase.create({
    data: { ...id, ...call, name: 'charged', position: 1, result: KEPT, arguments: Buffer.from('sealed') },
  });
  return key;
}

const stuck = async (more = {}) =>
  (await admin().listKeys({ stuck: true, limit: 10, offset: 0, ...more })).rows.map(({ key }) => key);

test('X3 it is listed, counted and reported as what waits for a person, and as nothing that is unfinished', async () => {
  await flaggedKey('flagged', { expired: true });
  await flaggedKey('ordinary', { needsAttention: false });
  expect([await stuck(), await stuck({ search: 'fla' }), await stuck({ state: 'failed' })]).toEqual(
    Array(3).fill(['flagged']),
  );
  expect([await stuck({ state: 'unknown' }), await stuck({ operation: 'other' })]).toEqual([[], []]);
  // No worker is missing, though none lists its operation: a settled key needs none.
  const { counts, stuck: count, oldestInProgressAt, storage, unlisted } = await admin([]).overview();
  expect({ counts, count, oldestInProgressAt, rows: storage?.rows, unlisted }).toEqual({
    counts: { failed: 2 },
    count: 1,
    oldestInProgressAt: null,
    rows: 2,
    unlisted: [],
  });
  expect(await store().countOpen(60_000)).toMatchObject([{ operation: 'pay', state: 'failed', count: 1, stuck: 1 }]);
  const none = { hasMessaging: false, hasPhases: false, destinations: [], hasInbox: false, called: [] };
  const findings = await checkWork(sql, none);
  expect(findings.map(({ level, says }) => [level, says])).toEqual([
    ['ok', 'None is seen. Nothing is late: only the reaper is missing, which deletes old keys.'],
    ['warning', '1 key waits for a person.'],
  ]);
});

test('X3 its page shows what was kept without its values', async () => {
  const detail = await admin().findKey(seen(await flaggedKey('shown')));
  expect(detail).toMatchObject({ state: 'failed', needsAttention: true, phases: [{ result: { id: 'string' } }] });
  expect(JSON.stringify(detail)).not.toContain('secret');
});

test('what is kept of it is not erased before a person has looked', async () => {
  const key = await flaggedKey('kept');
  expect(await admin().forget(seen(key), 'eve')).toBe('refused');
  expect(await admin().erasePrincipal(ANN, 'eve')).toMatchObject({
    forgotten: 0,
    unsettled: 1,
    left: expect.arrayContaining(['what is stored of keys that are not settled, or wait for a person']),
  });
  expect(await store().steps(seen(key))).toMatchObject([{ result: KEPT, arguments: expect.anything() }]);
  expect(await store().find(seen(key))).toMatchObject({ result: '{"v":1}' });
});

test('P5 the reaper leaves it, however old, until a person has seen to it', async () => {
  const key = await flaggedKey('old', { expired: true });
  expect(await store().reapKeys(10)).toBe(0);
  expect(await admin().acknowledge(seen(key), 'eve')).toBe('recorded');
  expect(await store().reapKeys(10)).toBe(1);
  expect(await recordsOf(key)).toEqual([{ type: 'acknowledged', actor: 'eve' }]);
});

test('X3 a person says that they have seen to it, once: the flag goes with what was kept, the answer stays', async () => {
  const key = await flaggedKey('seen-to');
  const click = () => admin().acknowledge(seen(key), 'eve');
  expect((await Promise.all([click(), click()])).sort()).toEqual(['changed', 'recorded']);
  expect(await click()).toBe('changed');
  expectCounted(await recordsOf(key)).toEqual([{ type: 'acknowledged', actor: 'eve' }]);
  const detail = await admin().findKey(seen(key));
  expect(detail).toMatchObject({ state: 'failed', needsAttention: false, isForgotten: false });
  expect(detail?.events).toMatchObject([{ type: 'acknowledged', actor: 'eve' }]);
  expect(await store().steps(seen(key))).toMatchObject([{ result: null, arguments: null }]);
  expect(await stuck()).toEqual([]);
  expect(await admin().forget(seen(key), 'eve')).toBe('recorded');
});

test('it is not taken off what is not settled, nor as somebody else has seen it', async () => {
  const key = await flaggedKey('changed');
  expect(await admin().acknowledge(seen(key, 2), 'eve')).toBe('changed');
  expect(await admin().acknowledge({ ...seen(key), principal: 'bob' }, 'eve')).toBe('changed');
  const ordinary = await flaggedKey('nobody-asked', { needsAttention: false });
  expect(await admin().acknowledge(seen(ordinary), 'eve')).toBe('changed');
  const open = await flaggedKey('open');
  const reopen = `UPDATE idempotency_keys SET state = 'unknown', settled_at = NULL WHERE key = $1`;
  await pastTriggers(database.client, reopen, open);
  expect(await admin().acknowledge(seen(open), 'eve')).toBe('refused');
  for (const each of [key, ordinary, open]) {
    expect(await recordsOf(each)).toEqual([]);
    expect(await store().steps(seen(each))).toMatchObject([{ result: expect.any(String) }]);
  }
});
