import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../../scripts/testing/test-database.ts';
import { createAdmin } from '../../admin/index.ts';
import { Provider } from '../../engine/phases/phases.fixture.ts';
import { anything, effect, effects, freshKey, kit } from '../../integration/kit.fixture.ts';
import { announce, destination, outboxOn } from '../../messaging/messaging.fixture.ts';
import { createInbox } from '../../messaging/prisma.ts';
import { storeContract } from '../contract.testsuite.ts';
import { prismaHarness, type Tx } from './prisma-harness.fixture.ts';
import { statementsOfRoom } from './statements.fixture.ts';
import { renamerOf, TABLES, type Tables } from './tables.ts';

/** A schema and names that need their quotes, and some that stay. */
const tables: Tables = {
  schema: 'Kit',
  idempotency_keys: 'Request_keys',
  idempotency_phases: 'steps',
  idempotency_things: 'Things',
  outbox_events: 'announcements',
  outbox_deliveries: 'Out-box',
  inbox_events: 'select',
};
const KEYS = '"Kit"."Request_keys"';

/** Puts every table of the kit's there; none is left under its own name. */
async function moveTables({ client }: TestDatabase): Promise<void> {
  await client.$executeRawUnsafe('CREATE SCHEMA "Kit"');
  for (const table of TABLES) {
    await client.$executeRawUnsafe(`ALTER TABLE ${table} SET SCHEMA "Kit"`);
    const name = tables[table];
    if (name) await client.$executeRawUnsafe(`ALTER TABLE "Kit".${table} RENAME TO "${name}"`);
  }
  // As docs/upgrading.md says: the triggers of the keys name the tables of steps and things.
  const triggers = await client.$queryRaw<{ name: string; definition: string }[]>`
    SELECT tgname AS name, pg_get_triggerdef(oid) AS definition FROM pg_trigger
     WHERE tgrelid = ${KEYS}::regclass AND tgargs <> ''`;
  for (const { name, definition } of triggers) {
    const own = Object.entries(tables).reduce(
      (text, [table, called]) => text.replace(`'${table}'`, `'${called}'`),
      definition,
    );
    await client.$executeRawUnsafe(`DROP TRIGGER "${name}" ON ${KEYS}`);
    await client.$executeRawUnsafe(own);
  }
}

storeContract<Tx>('Prisma, on tables of other names', () =>
  prismaHarness({ tables, keys: KEYS, things: '"Kit"."Things"', prepare: moveTables }),
);

describe('tables of other names', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase({ ownsTables: true });
    await moveTables(database);
  });
  afterAll(() => database?.drop());

  const named = (options = {}) => kit(database.client, { tables, ...options });
  const run = (sql: string, ...values: unknown[]) => database.client.$executeRawUnsafe(sql, ...values);
  const stateOf = async (key: string) => {
    const sql = `SELECT state FROM ${KEYS} WHERE key = $1`;
    return (await database.client.$queryRawUnsafe<{ state: string }[]>(sql, key)).map(({ state }) => state);
  };

  test('the server understands every statement of the kit, and has no table under the kit’s own names', async () => {
    const rename = renamerOf(tables) as (text: string) => string;
    const server = new pg.Client({ connectionString: database.url });
    await server.connect();
    const failed: string[] = [];
    for (const { name, text } of await statementsOfRoom()) {
      await server
        .query(`PREPARE renamed AS ${rename(text)}; DEALLOCATE renamed`)
        .catch((error) => failed.push(`${name}: ${error.message}`));
    }
    const { rows } = await server.query(
      'SELECT name FROM unnest($1::text[]) AS name WHERE to_regclass(name) IS NOT NULL',
      [TABLES],
    );
    await server.end();
    expect([failed, rows]).toEqual([[], []]);
  });

  test('an execution, its replay, its status and a fence; the user’s own statements stay as they are', async () => {
    const idempotency = named();
    const order = idempotency.operation({ name: 'order', schema: anything }).handler(async ({ tx, key }) => {
      await effect(tx, key);
      const [said] = await tx.$queryRawUnsafe<{ word: string }[]>(`SELECT 'idempotency_keys' AS word`);
      return said?.word;
    });
    const [key, never] = [freshKey(), freshKey()];
    const data = 'idempotency_keys';
    expect(await order.execute({ key, payload: { a: 1 } })).toMatchObject({ ok: true, replayed: false, data });
    const elsewhere = named()
      .operation({ name: 'order', schema: anything })
      .handler(async () => 'again');
    expect(await elsewhere.execute({ key, payload: { a: 1 }, attempt: 2 })).toMatchObject({ replayed: true, data });
    expect(await elsewhere.execute({ key, payload: { a: 2 } })).toMatchObject({ code: 'payload_mismatch' });
    expect(await order.status({ key })).toMatchObject({ state: 'succeeded' });
    expect(await order.fence({ key: never })).toMatchObject({ fenced: true });
    expect(await order.execute({ key: never, payload: {} })).toMatchObject({ code: 'key_abandoned' });
    expectCounted([await effects(database.client, key), await stateOf(key), await stateOf(never)]).toEqual([
      1,
      ['succeeded'],
      ['abandoned'],
    ]);
  });

  test('phases whose executor dies are finished by the completer, a lost call is sent again', async () => {
    const idempotency = named();
    const provider = new Provider();
    provider.faults = ['after'];
    const key = freshKey();
    let isAlive = false;
    const pay = idempotency
      .operation({ name: 'pay', schema: anything })
      .phases(async ({ atomic, foreign, capture }) => {
        await capture('number', () => 7);
        await atomic('created', (tx) => effect(tx, key));
        const { id } = await foreign('charged', provider.call(key));
        if (!isAlive) throw new Error('gone');
        return id;
      });
    await pay.execute({ key, payload: {} });
    isAlive = true;
    await run(
      `UPDATE ${KEYS} SET lease_until = now() - interval '1 s', next_attempt_at = now() - interval '1 s'
                WHERE key = $1`,
      key,
    );
    expect(await idempotency.completeDue()).toMatchObject({ taken: 1, settled: 1 });
    expectCounted([await stateOf(key), await effects(database.client, key), provider.count(key)]).toEqual([
      ['succeeded'],
      1,
      1,
    ]);
  });

  test('outbox, inbox and admin view', async () => {
    const idempotency = named();
    const sink = destination();
    const outbox = outboxOn(database.client, [sink.route], { tables });
    const announcing = idempotency.operation({ name: 'announcing', schema: anything }).handler(async (context) => {
      await outbox.enqueue(context.tx, { type: 'order.paid', aggregate: 'order:1', payload: {} }, context);
      return 'announced';
    });
    const key = freshKey();
    expect(await announcing.execute({ key, payload: {} })).toMatchObject({ ok: true });
    expect(await outbox.relayDue()).toMatchObject({ delivered: 1 });
    expect(sink.sent).toHaveLength(1);

    let fails = true;
    const handle = async (tx: Tx) => {
      await effect(tx, key);
      if (fails) throw new Error('not yet');
      return 'booked';
    };
    const inbox = createInbox({
      prisma: database.client,
      tables,
      sources: { bank: { handle } },
      backoff: { baseMs: 1, capMs: 1 },
      onReport: () => {},
    });
    const event = { source: 'bank', eventId: 'evt_1', payload: { amount: 5 } };
    expect(await inbox.receiveOnce(event)).toMatchObject({ kind: 'failed', isKept: true });
    fails = false;
    expect(await inbox.receiveOnce(event)).toMatchObject({ kind: 'processed', result: 'booked' });
    expect(await inbox.receiveOnce(event)).toMatchObject({ kind: 'replayed', result: 'booked' });
    expectCounted(await effects(database.client, key)).toBe(1);

    const admin = createAdmin({ prisma: database.client, tables });
    const { rows } = await admin.listKeys({ operation: 'announcing', limit: 10, offset: 0 });
    expect(rows).toMatchObject([{ key, state: 'succeeded' }]);
    const seen = rows[0] as (typeof rows)[number];
    expect(await admin.findKey(seen)).toMatchObject({ outboxEvents: [{ type: 'order.paid' }] });
    expect((await admin.overview()).counts.succeeded).toBeGreaterThan(0);
    expect(await admin.forget(seen, 'ann')).toBe('recorded');
  });

  test('an event is put aside behind a dead letter, and taken up once that is skipped', async () => {
    const sink = destination('aside', { attempts: 1 });
    sink.behave = ({ sequence }) => {
      if (sequence === 1) throw new Error('down');
    };
    const outbox = outboxOn(database.client, [sink.route], { tables });
    const [eventId = ''] = await announce(database.client, outbox, 'order:aside', 2);
    for (let pass = 0; pass < 2; pass++) await outbox.relayDue();
    const marks = () =>
      database.client.$queryRawUnsafe(
        `SELECT is_head FROM "Kit"."Out-box" WHERE destination = 'aside' ORDER BY sequence`,
      );
    expect(await marks()).toEqual([{ is_head: true }, { is_head: false }]);
    await outbox.skip({ destination: 'aside', eventId }, 'ann');
    expect(await outbox.relayDue()).toMatchObject({ delivered: 1 });
  });

  test('the reaper deletes what is past its retention there', async () => {
    const idempotency = named();
    const order = idempotency.operation({ name: 'reaped', schema: anything }).handler(async () => 'done');
    const key = freshKey();
    await order.execute({ key, payload: {} });
    await run(
      `UPDATE ${KEYS} SET claimed_at = claimed_at - interval '9 days', expires_at = expires_at - interval '9 days'
                WHERE key = $1`,
      key,
    );
    expect(await idempotency.reap()).toBe(1);
    expect(await stateOf(key)).toEqual([]);
  });

  test('the version is read there, and a kit that looks elsewhere says what it misses', async () => {
    expect(await named().readSchema()).toMatchObject([{ verdict: 'current' }, { verdict: 'current' }]);
    const tried = await named().tryClaim();
    expect(tried).not.toHaveProperty('refused');
    expect(tried).toMatchObject({ lacking: [], keyTable: expect.not.stringMatching(/^idempotency_keys$/) });
    const plain = kit(database.client);
    expect(await plain.readSchema()).toMatchObject([{ verdict: 'missing' }, { verdict: 'missing' }]);
    const order = plain.operation({ name: 'order', schema: anything }).handler(async () => 'done');
    await expect(order.execute({ key: freshKey(), payload: {} })).rejects.toMatchObject({
      name: 'ConfigurationError',
      existing: expect.stringContaining('idempotency_keys'),
    });
  });

  test('a client with replicas is asked for its primary, there as well', async () => {
    const { client } = database;
    const replica = { $queryRawUnsafe: () => Promise.reject(new Error('a replica was asked')) };
    const $transaction = client.$transaction.bind(client);
    const prisma = { ...replica, $transaction, $primary: () => client } as unknown as typeof client;
    const order = kit(prisma, { tables, transaction: 'interactive' })
      .operation({ name: 'order', schema: anything })
      .handler(async ({ tx, key }) => void (await effect(tx, key)));
    const key = freshKey();
    expect(await order.execute({ key, payload: {} })).toMatchObject({ ok: true });
    expect(await order.status({ key })).toMatchObject({ state: 'succeeded' });
    expectCounted(await effects(client, key)).toBe(1);
  });
});
