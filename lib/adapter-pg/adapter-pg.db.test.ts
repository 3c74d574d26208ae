import { PrismaPg as PlainPg } from '@prisma/adapter-pg';
import { oncekitPool } from 'oncekit';
import { PrismaPg } from 'oncekit/adapter-pg';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../scripts/testing/test-database.ts';
import { type Client, createClient } from '../../shop/db.ts';
import { createAdmin, joinTransaction } from '../admin/index.ts';
import { ANN, anything, effect, effects, freshKey, gate, kit, rowsOf, watchOf } from '../integration/kit.fixture.ts';
import { TABLES } from '../store/prisma/tables.ts';

let database: TestDatabase;
let watch: Awaited<ReturnType<typeof watchOf>>;
const closers: (() => unknown)[] = [];
beforeAll(async () => {
  database = await testDatabase();
  watch = await watchOf(database.url);
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
afterAll(async () => {
  await watch?.close();
  await database?.drop();
});

type Arguments = ConstructorParameters<typeof PlainPg>;

/** A client on such an adapter, the pools that it has had, and what went over their connections since it was last asked. */
function clientOn(Adapter: typeof PlainPg, ...args: Arguments) {
  const pools: pg.Pool[] = [];
  const sent: string[] = [];
  class Observed extends Adapter {
    override async connect() {
      const adapter = await super.connect();
      const pool = adapter.underlyingDriver();
      pools.push(pool);
      pool.on('connect', (connection) => observe(connection, sent));
      return adapter;
    }
  }
  const client = createClient(database.url, { adapter: new Observed(...args) });
  closers.push(() => client.$disconnect());
  return { client, pools, roundTrips: () => sent.splice(0).length };
}

/** Below what the kit puts over a connection: one call here is one round trip. */
function observe(connection: pg.PoolClient, sent: string[]): void {
  const query = connection.query as (...args: unknown[]) => unknown;
  connection.query = ((...args: [{ text?: string }]) => {
    sent.push(args[0].text ?? 'several statements together');
    return query.apply(connection, args);
  }) as never;
}

/** Nothing is said about the transaction: it is what an app has by the adapter alone. */
const kitOf = (client: Client) => kit(client, { transaction: undefined });

const orderOn = (client: Client) => {
  const operation = kitOf(client)
    .operation({ name: 'checkout', schema: anything })
    .handler(async ({ tx, key }) => {
      await effect(tx, key);
      return 'ordered';
    });
  return async (key = freshKey()) => ({ key, outcome: await operation.execute({ key, payload: {} }) });
};

const order = (client: Client) => orderOn(client)();

/** How many round trips an execution takes that writes one row, behind the first one of its kit. */
async function roundTripsOfAnOrder({ client, roundTrips }: ReturnType<typeof clientOn>): Promise<number> {
  const order = orderOn(client);
  expect((await order()).outcome).toMatchObject({ ok: true, data: 'ordered' });
  roundTrips();
  const { key, outcome } = await order();
  const taken = roundTrips();
  expect(outcome).toMatchObject({ ok: true, data: 'ordered' });
  expectCounted([await effects(database.client, key), (await rowsOf(database.client, key)).length]).toEqual([1, 1]);
  return taken;
}

const ownPool = (): pg.Pool => {
  const pool = new pg.Pool({ connectionString: database.url, max: 2 });
  closers.push(() => (pool.ended ? undefined : pool.end()));
  return pool;
};

/** Everything that PrismaPg takes. */
const KINDS: [string, () => Arguments][] = [
  ['an address', () => [database.url]],
  ['the configuration of a pool', () => [{ connectionString: database.url, max: 2 }]],
  ['a pool', () => [ownPool()]],
];

describe.each(KINDS)('on %s', (_, args) => {
  test('an execution takes as many round trips as the bare transaction, and more on the adapter of Prisma', async () => {
    expect(await roundTripsOfAnOrder(clientOn(PrismaPg, ...args()))).toBe(3);
    expect(await roundTripsOfAnOrder(clientOn(PlainPg, ...args()))).toBeGreaterThan(3);
  });

  test('a client that was disconnected and is used again has such a pool again', async () => {
    const made = clientOn(PrismaPg, ...args());
    await roundTripsOfAnOrder(made);
    await made.client.$disconnect();
    expect(await roundTripsOfAnOrder(made)).toBe(3);
    expect(made.pools).toHaveLength(2);
  });
});

test('a pool that is wrapped already is not wrapped again', async () => {
  const pool = oncekitPool(ownPool());
  const { connect } = pool;
  expect(await roundTripsOfAnOrder(clientOn(PrismaPg, pool))).toBe(3);
  expect(pool.connect).toBe(connect);
});

describe('what is asked of the adapter besides', () => {
  test.each([
    ['this one', PrismaPg],
    ['that of Prisma', PlainPg],
  ])(
    'a schema of its own is where the models are, and the kit’s tables, unless `tables` says another: %s',
    async (_, Adapter) => {
      const made = ['audit_records', ...TABLES].map(
        (table) => `CREATE TABLE shop.${table} (LIKE ${table} INCLUDING ALL)`,
      );
      await watch.query(`CREATE SCHEMA shop; ${made.join(';')}`);
      closers.push(() => watch.query('DROP SCHEMA shop CASCADE'));
      const { client } = clientOn(Adapter, database.url, { schema: 'shop' });
      const keysIn = async (schema: string, key: string) =>
        (await watch.query(`SELECT count(*)::int AS n FROM ${schema}.idempotency_keys WHERE key = $1`, [key])).rows[0]
          .n;
      const { key, outcome } = await order(client);
      expect(outcome).toMatchObject({ ok: true });
      expectCounted([await effects(client, key), await effects(database.client, key)]).toEqual([1, 0]);
      expectCounted([await keysIn('shop', key), await keysIn('public', key)]).toEqual([1, 0]);
      expect(kitOf(client).schemaName?.()).toBe('shop');
      const found = client.$transaction((tx) =>
        createAdmin({ prisma: joinTransaction(tx) }).findKey({ ...ANN, operation: 'checkout', key }),
      );
      expect(await found).toMatchObject({ key });

      const named = kit(client, { transaction: undefined, tables: { schema: 'public' } })
        .operation({ name: 'checkout', schema: anything })
        .handler(async () => 'ordered');
      expect(await named.execute({ key, payload: {} })).toMatchObject({ ok: true, replayed: false });
      expectCounted([await keysIn('shop', key), await keysIn('public', key)]).toEqual([1, 1]);

      await watch.query('DROP TABLE shop.idempotency_keys');
      const elsewhere = clientOn(Adapter, database.url, { schema: 'shop' });
      await expect(order(elsewhere.client)).rejects.toMatchObject({
        name: 'ConfigurationError',
        message: expect.stringContaining("They are in the schema public. Say tables: { schema: 'public' }"),
        existing: expect.stringContaining('no keys tables of oncekit in the schema shop;'),
      });
    },
  );

  test.each([
    ['stays open where nothing is said', undefined, false],
    ['ends with the client where that is said', { disposeExternalPool: true }, true],
  ])('a pool that it was given %s', async (_, options, isEnded) => {
    const pool = ownPool();
    const { client } = clientOn(PrismaPg, pool, options);
    expect((await order(client)).outcome).toMatchObject({ ok: true });
    await client.$disconnect();
    expect(pool.ended).toBe(isEnded);
    if (!isEnded) expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });

  test('a pool that it has made ends with the client', async () => {
    const { client, pools } = clientOn(PrismaPg, { connectionString: database.url });
    expect((await order(client)).outcome).toMatchObject({ ok: true });
    await client.$disconnect();
    expect(pools.map(({ ended }) => ended)).toEqual([true]);
  });

  test('an adapter that does not tell its pool is left as it is', async () => {
    const adapter = await new PlainPg(database.url).connect();
    const prototype = Object.getPrototypeOf(adapter);
    await adapter.dispose();
    const { underlyingDriver } = prototype;
    const made = createClient(database.url, { adapter: new PrismaPg(database.url) });
    closers.push(() => made.$disconnect());
    prototype.underlyingDriver = undefined;
    try {
      expect((await order(made)).outcome).toMatchObject({ ok: true, data: 'ordered' });
    } finally {
      prototype.underlyingDriver = underlyingDriver;
    }
  });
});

test('the first query of a process, which makes the pool, already tells it to the kit', async () => {
  const shared = globalThis as Record<symbol, unknown>;
  const contexts = Symbol.for('oncekit.within');
  const known = shared[contexts];
  delete shared[contexts]; // as before anything of the kit was used
  try {
    const { client } = clientOn(PrismaPg, database.url);
    const operation = kit(client)
      .operation({ name: 'checkout', schema: anything })
      .handler(async ({ key }) => effect(client, key).then(() => 'ordered'));
    const key = freshKey();
    expect(await operation.execute({ key, payload: {} })).toMatchObject({ ok: true, data: 'ordered' });
  } finally {
    shared[contexts] = known;
  }
});

describe('the server ends a connection', () => {
  const doomed = { application_name: 'doomed', max: 1 };
  const endIt = () =>
    watch.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'doomed'`,
    );

  test('that is idle: the app is told, the process goes on, and the next execution has another one', async () => {
    const told = gate<Error>();
    const config = { connectionString: database.url, ...doomed };
    const { client } = clientOn(PrismaPg, config, { onPoolError: told.open });
    expect((await order(client)).outcome).toMatchObject({ ok: true });
    await endIt();
    expect(await told.opened).toMatchObject({ code: '57P01' });
    expect((await order(client)).outcome).toMatchObject({ ok: true, data: 'ordered' });
  });

  test('that is in an execution: nothing of that stays, and the same key is executed on another one', async () => {
    const { client } = clientOn(PrismaPg, { connectionString: database.url, ...doomed });
    let runs = 0;
    const operation = kitOf(client)
      .operation({ name: 'checkout', schema: anything })
      .handler(async ({ tx, key }) => {
        await effect(tx, key);
        if (++runs === 1) await endIt();
        return runs;
      });
    const key = freshKey();
    const first = await operation.execute({ key, payload: {} });
    expect(first).toMatchObject({ ok: false, code: 'unavailable' });
    expectCounted(await effects(database.client, key)).toBe(0);
    expect(await operation.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true, data: 2 });
    expectCounted(await effects(database.client, key)).toBe(1);
  });
});
