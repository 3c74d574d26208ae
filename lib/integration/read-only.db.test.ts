import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { migrate } from '../../scripts/services/migrate.ts';
import { type ScratchPostgres, scratchPostgres } from '../../scripts/services/postgres-scratch.ts';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { until } from '../../scripts/testing/until.ts';
import { type Client, createClient } from '../../shop/db.ts';
import { createAdmin } from '../admin/index.ts';
import { Provider } from '../engine/phases/phases.fixture.ts';
import { announce, destination, outboxOn } from '../messaging/messaging.fixture.ts';
import { createInbox } from '../messaging/prisma.ts';
import { StoreUnavailableError } from '../store/store.ts';
import { ANN, anything, effect, effects, freshKey, kit, type Tx } from './kit.fixture.ts';

/** A server that takes no writes any more (25006), as one that was demoted, or whose disk is full where a cloud says so. */

let server: ScratchPostgres;
let sql: pg.Client;
let client: Client;

beforeAll(async () => {
  server = await scratchPostgres();
  await migrate(server.url);
  sql = new pg.Client({ connectionString: server.url });
  await sql.connect();
  await sql.query('SET default_transaction_read_only = off');
  client = createClient(server.url, { max: 3 });
});
afterEach(() => takeWrites());
afterAll(async () => {
  await client?.$disconnect();
  await sql?.end();
  await server?.close();
});

const takeWrites = () => turn('off');
const refuseWrites = () => turn('on');

/** Resolves once every connection of the client knows. */
async function turn(readOnly: 'on' | 'off') {
  await sql.query(`ALTER SYSTEM SET default_transaction_read_only = ${readOnly}`);
  await sql.query('SELECT pg_reload_conf()');
  const asked = () =>
    client.$queryRaw<
      { now: string }[]
    >`SELECT current_setting('default_transaction_read_only') AS now, pg_sleep(0.02)::text`;
  await until('every connection knows', async () => {
    const told = await Promise.all([asked(), asked(), asked()]);
    return told.every(([row]) => row?.now === readOnly);
  });
}

function op(handle: (tx: Tx, key: string) => Promise<unknown> = effect) {
  const during: string[] = [];
  const errors: unknown[] = [];
  const idempotency = kit(client, {
    waitMs: 0,
    onError: (error, context) => {
      during.push(context.during);
      errors.push(error);
    },
  });
  const checkout = idempotency.operation({ name: 'checkout', schema: anything }).handler(async ({ tx, key }) => {
    await handle(tx, key);
    return 'done';
  });
  return { ...checkout, during, errors };
}

const AWAY = { ok: false, code: 'unavailable', retry: 'same-key', retryAfterMs: 1000 };
const readOnly = { message: expect.stringContaining('25006') };

describe('an execution', () => {
  test('claims nothing; what is stored is still answered; and it works when writes are taken again', async () => {
    const { execute, status, fence, errors, during } = op();
    const [stored, key] = [freshKey(), freshKey()];
    expect(await execute({ key: stored, payload: {} })).toMatchObject({ ok: true });
    await refuseWrites();
    expect(await execute({ key, payload: {}, attempt: 1 })).toMatchObject({ ...AWAY, executed: false });
    expect(await execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ...AWAY, executed: 'unknown' });
    expect(await fence({ key })).toMatchObject({ ...AWAY, executed: 'unknown' });
    // Nobody is told that a key is free that a standby merely has not heard of.
    expect(await status({ key })).toMatchObject({ ...AWAY, executed: 'unknown' });
    expect(during).toEqual(['database', 'database', 'database', 'database']);
    for (const error of errors) expect(error).toMatchObject(readOnly);
    expect(await op().execute({ key: stored, payload: {}, attempt: 2 })).toMatchObject({ ok: true, replayed: true });
    expect(await op().status({ key: stored })).toMatchObject({ state: 'succeeded' });
    await takeWrites();
    expect(await execute({ key, payload: {}, attempt: 3 })).toMatchObject({ ok: true, replayed: false });
    expectCounted(await effects(client, key)).toBe(1);
  });

  const turns = (tx: Tx) => tx.$executeRawUnsafe('SET TRANSACTION READ ONLY');
  test.each<[string, (tx: Tx, key: string) => Promise<unknown>]>([
    ['in the handler, by a model', async (tx, key) => turns(tx).then(() => effect(tx, key))],
    [
      'in the handler, by SQL',
      async (tx, key) =>
        turns(tx).then(() => tx.$executeRaw`UPDATE audit_records SET action = ${key} WHERE action = ${key}`),
    ],
    ['at the completion', turns],
  ])('%s: everything is rolled back, and nobody calls it a bug', async (_, handle) => {
    const { execute, during, errors } = op(handle);
    expect(await execute({ key: freshKey(), payload: {} })).toMatchObject({ ...AWAY, executed: false });
    expect(during).toEqual(['database']);
    expect(errors).toMatchObject([readOnly]);
    expect(await op().execute({ key: freshKey(), payload: {} })).toMatchObject({ ok: true });
  });

  test('at COMMIT, where only the server’s own word comes: it was rolled back', async () => {
    const name = `late_${randomUUID().slice(0, 8)}`;
    await sql.query(`CREATE TABLE ${name} (id int)`);
    await sql.query(`CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'no writes' USING ERRCODE = '25006'; END $$`);
    await sql.query(`CREATE CONSTRAINT TRIGGER late AFTER INSERT ON ${name} DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION ${name}()`);
    const { execute } = op((tx) => tx.$executeRawUnsafe(`INSERT INTO ${name} VALUES (1)`));
    const key = freshKey();
    expect(await execute({ key, payload: {} })).toMatchObject({ ...AWAY, executed: false });
    expect(await op().execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true, replayed: false });
  });
});

test('phases: the claim, a phase behind a call, and the completer; the key goes on when writes are taken again', async () => {
  const provider = new Provider();
  const errors: unknown[] = [];
  const idempotency = kit(client, { onError: (error) => void errors.push(error) });
  const pay = idempotency.operation({ name: 'pay', schema: anything }).phases(async ({ key, atomic, foreign }) => {
    await atomic('created', (tx) => effect(tx, key));
    const { id } = await foreign('charged', provider.call(key));
    await atomic('paid', (tx) => effect(tx, `${key} paid`));
    return id;
  });
  const key = freshKey();
  provider.onCharge = refuseWrites;
  expect(await pay.execute({ key, payload: {} })).toMatchObject({ ...AWAY, executed: 'unknown' });
  const other = freshKey();
  expect(await pay.execute({ key: other, payload: {}, attempt: 1 })).toMatchObject({ ...AWAY, executed: false });
  await expect(idempotency.completeDue()).rejects.toBeInstanceOf(StoreUnavailableError);
  expect(errors.length).toBeGreaterThan(0);
  provider.onCharge = async () => {};
  await takeWrites();
  await client.$executeRaw`UPDATE idempotency_keys SET lease_until = now() - interval '1 s', next_attempt_at = now() - interval '1 s' WHERE key = ${key}`;
  expect(await idempotency.completeDue({ limit: 10 })).toMatchObject({ settled: 1 });
  expect(await pay.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true, replayed: true });
  expectCounted([await effects(client, key), await effects(client, `${key} paid`), provider.count(key)]).toEqual([
    1, 1, 1,
  ]);
});

test('inbox, relay, reaper and the admin’s hands: each says that the database cannot be asked', async () => {
  const handle = (tx: Tx) => effect(tx, 'evt_1');
  const inbox = createInbox({ prisma: client, sources: { bank: { handle } }, onReport: () => {} });
  const sink = destination();
  const outbox = outboxOn(client, [sink.route]);
  const key = freshKey();
  const { execute } = op();
  expect(await execute({ key, payload: {} })).toMatchObject({ ok: true });
  await announce(client, outbox, 'order:1');
  const idempotency = kit(client);
  const admin = createAdmin({ prisma: client });
  const row = await admin.findKey({ ...ANN, operation: 'checkout', key });
  if (!row) throw new Error('There is no key.');
  const event = { source: 'bank', eventId: 'evt_1', payload: {} };
  const asked: [string, () => Promise<unknown>][] = [
    ['receive', () => inbox.receiveOnce(event)],
    ['retry', () => inbox.retryDue()],
    ['relay', () => outbox.relayDue()],
    ['reap', () => idempotency.reap()],
    ['forget', () => admin.forget(row, 'ann')],
    ['erase', () => admin.erasePrincipal(ANN, 'ann')],
  ];
  await refuseWrites();
  for (const [name, ask] of asked) {
    const told = await ask().then(
      (value) => ({ name, value }),
      (error) => ({ name, error: (error as Error).name }),
    );
    expect(told).toEqual({ name, error: 'StoreUnavailableError' });
  }
  expect(sink.sent).toEqual([]);
  // What is read is read.
  expect(await admin.listKeys({ limit: 10, offset: 0 })).toMatchObject({ hasMore: false });
  await takeWrites();
  expect(await inbox.receiveOnce(event)).toMatchObject({ kind: 'processed' });
  await outbox.relayDue();
  expectCounted([sink.sent.length, await effects(client, 'evt_1')]).toEqual([1, 1]);
});
