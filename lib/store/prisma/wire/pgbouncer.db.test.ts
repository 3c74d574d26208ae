/** @module-tag pgbouncer */
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type PgBouncer, startPgBouncer } from '../../../../scripts/services/pgbouncer.ts';
import { expectCounted } from '../../../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../../../scripts/testing/test-database.ts';
import { type Client, createClient } from '../../../../shop/db.ts';
import { Provider } from '../../../engine/phases/phases.fixture.ts';
import { anything, effect, effects, freshKey, gate, kit, rowsOf, watchOf } from '../../../integration/kit.fixture.ts';

/**
 * Behind a pooler in transaction mode: each transaction gets another server connection, and nothing of a session stays.
 * There are fewer of them than clients. Runs on both paths, like `pool.db.test.ts`.
 */

const SERVERS = 2;

let database: TestDatabase;
let bouncer: PgBouncer;
let watch: Awaited<ReturnType<typeof watchOf>>;
/** Two processes behind it. */
let [one, two]: Client[] = [];

beforeAll(async () => {
  database = await testDatabase();
  bouncer = await startPgBouncer(database.url, { connections: SERVERS });
  watch = await watchOf(database.url);
  [one, two] = [createClient(bouncer.url, { max: 20 }), createClient(bouncer.url, { max: 20 })];
});
afterAll(async () => {
  await Promise.all([one?.$disconnect(), two?.$disconnect(), watch?.close()]);
  await bouncer?.close();
  await database?.drop();
});

const define = (client: Client | undefined, run: (key: string, tx: Client) => Promise<unknown> = async () => 'there') =>
  kit(client as Client, { waitMs: 20_000 })
    .operation({ name: 'checkout', schema: anything, timeoutMs: 20_000, maxWaitMs: 20_000 })
    .handler(async ({ tx, key, input, fail }) => {
      await effect(tx, key);
      if (input.wants === 'a refusal') return fail('sold_out');
      if (input.wants === 'an error') throw new Error('no');
      if (input.wants === 'a failed statement') await tx.$queryRawUnsafe('SELECT 1/0').catch(() => {});
      return (await run(key, tx as Client)) as string;
    });

const counted = async (key: string) => [
  await effects(database.client, key),
  (await rowsOf(database.client, key)).map(({ state }) => state),
];

describe('PgBouncer in transaction mode', () => {
  test('an execution, its replay, and a mismatch', async () => {
    const operation = define(one);
    const key = freshKey();
    const payload = { sku: 'mug' };
    expect(await operation.execute({ key, payload })).toMatchObject({ ok: true, replayed: false });
    expect(await operation.execute({ key, payload })).toMatchObject({ ok: true, replayed: true, data: 'there' });
    expect(await define(two).execute({ key, payload, attempt: 2 })).toMatchObject({ ok: true, replayed: true });
    expect(await define(two).execute({ key, payload: {} })).toMatchObject({ code: 'payload_mismatch' });
    expect(await operation.status({ key })).toMatchObject({ state: 'succeeded' });
    expectCounted(await counted(key)).toEqual([1, ['succeeded']]);
  });

  test('50 keys at once, of two clients, each with a savepoint that is rolled back: each its own answer and effect', async () => {
    const run = async (key: string, tx: Client) => {
      const nested = tx.$transaction(async (inner) => {
        await effect(inner, key);
        throw new Error('rolled back');
      });
      await nested.catch(() => {});
      return key;
    };
    const operations = [define(one, run), define(two, run)];
    const keys = Array.from({ length: 50 }, freshKey);
    const told = await Promise.all(keys.map((key, n) => operations[n % 2]?.execute({ key, payload: {} })));
    expect(told.map((outcome) => outcome?.ok && outcome.data)).toEqual(keys);
    for (const key of keys) expectCounted(await counted(key)).toEqual([1, ['succeeded']]);
  });

  test('one key of two clients: one executes, the other waits for it and replays', async () => {
    const key = freshKey();
    const [inside, end] = [gate(), gate()];
    let runs = 0;
    const run = async () => {
      inside.open();
      await end.opened;
      return `run ${++runs}`;
    };
    const first = define(one, run).execute({ key, payload: {} });
    await inside.opened;
    const second = define(two, run).execute({ key, payload: {} });
    await watch.untilWaiting(1);
    end.open();
    expect([await first, await second]).toMatchObject([
      { ok: true, replayed: false, data: 'run 1' },
      { ok: true, replayed: true, data: 'run 1' },
    ]);
    expectCounted(await counted(key)).toEqual([1, ['succeeded']]);
  });

  test.each([
    ['a refusal', { code: 'failed', reason: 'sold_out' }, [1, ['failed']]],
    ['an error', { code: 'internal', executed: false }, [0, []]],
    ['a failed statement', { code: 'internal', executed: false }, [0, []]],
  ])('%s', async (wants, told, left) => {
    const key = freshKey();
    expect(await define(one).execute({ key, payload: { wants } })).toMatchObject(told);
    expectCounted(await counted(key)).toEqual(left);
    const again = await define(two).execute({ key, payload: { wants } });
    expect(again).toMatchObject(told);
    if (wants !== 'a refusal') expect(await define(two).execute({ key, payload: {} })).toMatchObject({ ok: true });
  });

  test('an operation in phases', async () => {
    const provider = new Provider();
    const define = (client: Client | undefined) =>
      kit(client as Client)
        .operation({ name: 'paid', schema: anything })
        .phases(async ({ key, atomic, foreign }) => {
          await atomic('created', (tx) => effect(tx, key));
          const charge = await foreign('charged', provider.call(key));
          await atomic('paid', (tx) => effect(tx, `${key} paid`));
          return charge.id;
        });
    const key = freshKey();
    expect(await define(one).execute({ key, payload: {} })).toMatchObject({ ok: true, data: 'ch_1' });
    expect(await define(two).execute({ key, payload: {} })).toMatchObject({ ok: true, replayed: true, data: 'ch_1' });
    expectCounted([await counted(key), await effects(database.client, `${key} paid`), provider.sends]).toEqual([
      [1, ['succeeded']],
      1,
      1,
    ]);
  });

  test('nothing stays on its servers: no prepared statement, no setting of ours, no transaction', async () => {
    const operation = define(one);
    for (let n = 0; n < 10; n++) {
      // By turns, so that each connection of the client is often used, and meets each of the servers.
      const keys = Array.from({ length: 4 }, freshKey);
      const told = await Promise.all(keys.map((key) => operation.execute({ key, payload: {} })));
      expect(told.map(({ ok }) => ok)).toEqual([true, true, true, true]);
    }
    await watch.untilIdle();
    const clients = Array.from({ length: SERVERS }, () => new pg.Client({ connectionString: bouncer.url }));
    await Promise.all(clients.map((client) => client.connect()));
    // Each holds its server, so that the other one gets the other.
    await Promise.all(clients.map((client) => client.query('BEGIN')));
    const found = await Promise.all(
      clients.map(async (client) => {
        const { rows } = await client.query(
          `SELECT pg_backend_pid() AS pid, (SELECT count(*)::int FROM pg_prepared_statements) AS prepared,
                  current_setting('lock_timeout') AS waits,
                  current_setting('idle_in_transaction_session_timeout') AS idle`,
        );
        return rows[0];
      }),
    );
    await Promise.all(clients.map((client) => client.end()));
    expect(new Set(found.map(({ pid }) => pid)).size).toBe(SERVERS);
    for (const each of found) expect(each).toMatchObject({ prepared: 0, waits: '0', idle: '0' });
  });
});

test('a server that is talked to directly keeps the statements that are sent again and again', async () => {
  const client = createClient(database.url, { max: 1 });
  const operation = define(client);
  for (let n = 0; n < 5; n++)
    expect(await operation.execute({ key: freshKey(), payload: {} })).toMatchObject({ ok: true });
  const names = await client.$queryRawUnsafe<{ name: string }[]>('SELECT name FROM pg_prepared_statements');
  const ours = names.filter(({ name }) => name.startsWith('oncekit_'));
  expect(ours.length > 0).toBe(process.env.POOL !== 'plain');

  // Somebody takes them away, as a pooler or a person may: the next one is no error that a customer sees.
  await client.$executeRawUnsafe('DEALLOCATE ALL');
  const key = freshKey();
  expect(await operation.execute({ key, payload: {} })).toMatchObject({ ok: true });
  expectCounted(await counted(key)).toEqual([1, ['succeeded']]);
  await client.$disconnect();
});
