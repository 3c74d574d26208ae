import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Client, createClient } from '../../demo/db.ts';
import { type TestDatabase, testDatabase } from '../../demo/test-database.ts';
import { anything, effect, effects, freshKey, kit, rowsOf, type Tx } from '../../engine/engine.testsuite.ts';
import { oncekitPool } from './pool.ts';

/** Clients that do with their transactions what the pool does not expect. */

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database?.drop());

type Transact = (run: (tx: Tx) => Promise<unknown>, options: object) => Promise<unknown>;

/** The client with another `$transaction`, as an extension can give it one. */
function extended($transaction: Transact): Client {
  return new Proxy(database.client, {
    get: (client, name, receiver) => (name === '$transaction' ? $transaction : Reflect.get(client, name, receiver)),
  });
}

async function expectOneOrder(client: Client, key: string) {
  let runs = 0;
  const operation = kit(client)
    .operation({ name: 'checkout', schema: anything })
    .handler(async ({ tx }) => {
      await effect(tx, key);
      return { run: ++runs };
    });
  const told = await operation.execute({ key, payload: {} });
  expect(told).toMatchObject({ ok: true, replayed: false, data: { run: runs } });
  expect(await effects(database.client, key)).toBe(1);
  expect(await rowsOf(database.client, key)).toMatchObject([{ state: 'succeeded', result: expect.any(String) }]);
}

test('another transaction first: it is committed as it was, and the key is claimed in its own', async () => {
  const first = freshKey();
  const client = extended(async (run, options) => {
    await database.client.$transaction(async (tx) => {
      await effect(tx, first);
      expect(await tx.idempotencyKey.count({ where: { state: 'in_progress' } })).toBe(0);
    });
    return await database.client.$transaction(run, options);
  });
  await expectOneOrder(client, freshKey());
  expect(await effects(database.client, first)).toBe(1);
});

test('a transaction that is tried again: the one that commits has claim, effect and answer', async () => {
  const client = extended(async (run, options) => {
    const failing = async (tx: Tx) => {
      await run(tx);
      throw new Error('tried again');
    };
    await expect(database.client.$transaction(failing, options)).rejects.toThrow('tried again');
    return await database.client.$transaction(run, options);
  });
  await expectOneOrder(client, freshKey());
});

test('a COMMIT in other words: the answer is stored all the same, and nothing rides on that pool again', async () => {
  const pool = oncekitPool(new pg.Pool({ connectionString: database.url, max: 2 }));
  const connect = pool.connect.bind(pool) as (...args: unknown[]) => Promise<pg.PoolClient>;
  const heard: string[] = [];
  pool.connect = (async (...args: unknown[]) => {
    if (args.length > 0) return connect(...args);
    const client = await connect();
    const query = client.query.bind(client) as (config: { text?: string }) => unknown;
    const inOtherWords = (config: { text?: string }) => {
      if (config.text) heard.push(config.text); // and not a query of ours
      return query(config.text === 'COMMIT' ? { ...config, text: 'COMMIT WORK' } : config);
    };
    return Object.assign(Object.create(client), { query: inOtherWords, release: () => client.release() });
  }) as never;
  const client = createClient(database.url, { pool });
  try {
    await expectOneOrder(client, freshKey());
    const claims = () => heard.filter((text) => text.includes('INSERT INTO idempotency_keys')).length;
    expect(claims()).toBe(0); // it rode with BEGIN, unheard here
    await expectOneOrder(client, freshKey());
    expect(claims()).toBe(1);
  } finally {
    await client.$disconnect();
  }
});

test('a pool in pipeline mode, which takes no queries of ours: they are statements inside the transaction', async () => {
  const pool = oncekitPool(new pg.Pool({ connectionString: database.url, max: 2, pipeline: true } as pg.PoolConfig));
  const client = createClient(database.url, { pool });
  try {
    for (let n = 0; n < 2; n++) await expectOneOrder(client, freshKey());
  } finally {
    await client.$disconnect();
  }
});

test('a completion that fails the first time: the server has kept its statement, and the next execution can keep it, too', async () => {
  const client = createClient(database.url, { max: 1 });
  try {
    const failing = kit(client)
      .operation({ name: 'checkout', schema: anything })
      .handler(async ({ tx, key }) => void (await tx.idempotencyKey.deleteMany({ where: { key } })));
    expect(await failing.execute({ key: freshKey(), payload: {} })).toMatchObject({ ok: false, executed: false });
    let runs = 0;
    const next = kit(client)
      .operation({ name: 'checkout', schema: anything })
      .handler(async ({ tx, key }) => {
        await effect(tx, key);
        return ++runs;
      });
    expect(await next.execute({ key: freshKey(), payload: {} })).toMatchObject({ ok: true, data: 1 });
  } finally {
    await client.$disconnect();
  }
});
