import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { expectCounted } from '../../../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../../../scripts/testing/test-database.ts';
import { watchOf } from '../../../integration/kit.fixture.ts';
import type { LostKey } from '../../lost-keys.ts';
import { Db } from '../db.ts';
import { storeOf } from '../prisma-harness.fixture.ts';
import { lostKeysOn } from './lost-keys.ts';
import { ticketOf } from './ticket.ts';

let database: TestDatabase;
let store: ReturnType<typeof storeOf>;
let lostKeys: ReturnType<typeof lostKeysOn>;
beforeAll(async () => {
  database = await testDatabase({ ownsTables: true });
  store = storeOf(database.client);
  lostKeys = lostKeysOn(new Db(database.client));
});
afterAll(() => database?.drop());

const by = { actor: 'eve', detail: { by: 'hand' } };
const scope = { tenant: 'acme', principal: 'ann', operation: 'pay' };
const lost = (key: string, is: LostKey['is'] = { result: 'd1' }): LostKey => ({
  ...scope,
  key,
  fingerprint: null,
  schemaVersion: 2,
  retentionMs: 3_600_000,
  is,
});
const input = new Uint8Array([1, 2]);
const call = {
  kind: 'foreign',
  name: 'charged',
  position: 2,
  arguments: input,
  derivedKey: 'k',
  notBefore: null,
  providerKeyTtlMs: 0,
} as const;
const counts = async (key: string) => {
  const where = { where: { key } };
  const { idempotencyKey, idempotencyPhase, idempotencyAudit } = database.client;
  return Promise.all([idempotencyKey.count(where), idempotencyPhase.count(where), idempotencyAudit.count(where)]);
};

test('a key is entered with its steps and its record, due at once, and what is there wins', async () => {
  const steps = [{ kind: 'capture', name: 'id', position: 1, result: '1' } as const, { ...call, result: null }];
  expect(await lostKeys.enterLost(lost('a', { input, steps }), by)).toBe('entered');
  expectCounted(await counts('a')).toEqual([1, 2, 1]);
  const held = await store.takeOver({ ...scope, key: 'a' }, 1000, false);
  expect(held).toMatchObject({ state: 'in_progress', input, schemaVersion: 2 });
  const [id, charged] = held?.steps ?? [];
  expect(id).toMatchObject({ kind: 'capture', state: 'done', result: '1', sends: 0 });
  expect(charged).toMatchObject({ kind: 'foreign', state: 'started', sends: 1, notExecuted: 0, arguments: input });
  // Nobody knows when it was sent: so long ago that no provider is relied on to remember it, and so late that it may come.
  expect(charged?.sinceFirstSentMs).toBeGreaterThan(50 * 365 * 86_400_000);
  expect(charged?.sinceLastSentMs).toBeLessThan(60_000);
  const other = [{ ...call, name: 'other', result: '2' }];
  expect(await lostKeys.enterLost(lost('a', { input, steps: other }), by)).toBe('existing');
  expectCounted(await counts('a')).toEqual([1, 2, 1]);
});

test('an answer is entered as settled', async () => {
  expect(await lostKeys.enterLost(lost('b'), by)).toBe('entered');
  expect(await store.find({ ...scope, key: 'b' })).toMatchObject({
    state: 'succeeded',
    result: 'd1',
    fingerprint: null,
  });
  expectCounted(await counts('b')).toEqual([1, 0, 1]);
});

test('a key that somebody executes at this moment is left to them', async () => {
  const other = await watchOf(database.url);
  await other.query('BEGIN');
  await other.query('SELECT pg_advisory_xact_lock($1)', [ticketOf(lost('c'))]);
  expect(await lostKeys.enterLost(lost('c'), by)).toBe('locked');
  expectCounted(await counts('c')).toEqual([0, 0, 0]);
  await other.query('COMMIT');
  expect(await lostKeys.enterLost(lost('c'), by)).toBe('entered');
  await other.close();
});

test.each([
  ['an answer is entered without it, once it is asked again', { result: 'd1' }, 'entered'],
  ['a key that would be gone on with is not entered', { input, steps: [{ ...call, result: null }] }, 'held'],
] as const)('where another key commits its thing beside the entry, %s', async (_, is, toldAgain) => {
  const other = await watchOf(database.url);
  const thing = `cart of ${toldAgain}`;
  const [holder, late] = [lost(`holder-${toldAgain}`), { ...lost(`late-${toldAgain}`, is), thing }];
  expect(await lostKeys.enterLost(holder, by)).toBe('entered');
  // The insert waits behind its ticket, with a snapshot in which nobody holds the thing.
  await other.query(`CREATE FUNCTION stop_${toldAgain}() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_advisory_xact_lock(42); RETURN NEW; END $$`);
  await other.query(`CREATE TRIGGER stop_${toldAgain} BEFORE INSERT ON idempotency_keys
    FOR EACH ROW WHEN (NEW.key = '${late.key}') EXECUTE FUNCTION stop_${toldAgain}()`);
  await other.query('SELECT pg_advisory_lock(42)');
  const entering = lostKeys.enterLost(late, by);
  await other.untilWaiting(1);
  await other.query(
    `INSERT INTO idempotency_things (tenant, principal, operation, key, thing)
     SELECT tenant, principal, operation, key, $2 FROM idempotency_keys WHERE key = $1`,
    [holder.key, thing],
  );
  await other.query('SELECT pg_advisory_unlock(42)');
  expect(await entering).toBe('locked');
  expectCounted(await counts(late.key)).toEqual([0, 0, 0]);
  await other.query(`DROP TRIGGER stop_${toldAgain} ON idempotency_keys`);
  expect(await lostKeys.enterLost(late, by)).toBe(toldAgain);
  expectCounted(await counts(late.key)).toEqual(toldAgain === 'entered' ? [1, 0, 1] : [0, 0, 0]);
  expect(await store.thingOf(late)).toBeNull();
  await other.close();
});

test('tables of version 3 hold no things, and take the keys of those that name none', async () => {
  const { client, drop } = await testDatabase({ ownsTables: true });
  onTestFinished(drop);
  // Those of later versions look at it.
  await client.$executeRawUnsafe('ALTER TABLE idempotency_keys DISABLE TRIGGER USER, DROP COLUMN thing CASCADE');
  const lostKeys = lostKeysOn(new Db(client));
  expect(await lostKeys.enterLost(lost('v3'), by)).toBe('entered');
  expect(await lostKeys.enterLost(lost('v3 open', { input, steps: [{ ...call, result: null }] }), by)).toBe('entered');
  await expect(lostKeys.enterLost({ ...lost('v3 thing'), thing: 'cart' }, by)).rejects.toThrow();
});
