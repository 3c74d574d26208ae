import type pg from 'pg';
import { describe, expect, test, vi } from 'vitest';
import { expectCounted } from '../../../../scripts/testing/expect-counted.ts';
import { testDatabase } from '../../../../scripts/testing/test-database.ts';
import { until } from '../../../../scripts/testing/until.ts';
import { type Client, createClient } from '../../../../shop/db.ts';
import { Provider } from '../../../engine/phases/phases.fixture.ts';
import { anything, effect, effects, freshKey, kit } from '../../../integration/kit.fixture.ts';
import { outside } from '../async-context.ts';
import { TABLES, type Tables } from '../tables.ts';
import { oncekitPool } from '../wire/pool.ts';
import { ended, execute, orderWithRefund, pidOf, stage } from './ambient.fixture.ts';

/** More clients than one in a process, and those that the mode is not for. */

interface Loader {
  request(asked: unknown): unknown;
  options: { singleLoader(asked: unknown): unknown };
}

const here = stage();
const create = (action: string) => ({ data: { action, tenant: 't', principal: 'p' } });

describe('a second client in the handler', () => {
  test.each<[string, (other: Client, key: string) => PromiseLike<unknown>, string]>([
    ['a write', (other, key) => effect(other, key), 'auditRecord.create'],
    ['a nested one', (other, key) => other.order.create({ data: orderWithRefund(key) }), 'order.create'],
    ['raw SQL', (other) => pidOf(other), '$queryRawUnsafe'],
    [
      'one in a $transaction',
      (other, key) => other.$transaction((beside) => effect(beside, key)),
      'auditRecord.create',
    ],
    [
      'one in a list',
      (other, key) => other.$transaction([other.product.count(), other.auditRecord.create(create(key))]),
      'auditRecord.create',
    ],
  ])('of another database: %s is refused, and goes by itself outside', async (_, ask, method) => {
    const other = await testDatabase();
    here.later(other.drop);
    const counts = async (client: Client) => [
      await client.product.count(),
      ...(await client.$transaction([client.product.count()])),
    ];
    for (const isRefused of [true, false]) {
      const { key, outcome } = await execute(here.client, async ({ tx, key }) => {
        await effect(tx, key);
        expect(await counts(other.client)).toEqual(await outside(() => counts(other.client)));
        expect(await ended(ask(other.client, key))).toMatchObject({
          message: expect.stringContaining(`${method} would not`),
        });
        await outside(() => ask(other.client, `${key}-outside`));
        await effect(tx, key);
        if (isRefused) throw new Error('rolled back');
      });
      expect(outcome).toMatchObject(isRefused ? { executed: false } : { ok: true });
      expectCounted([await here.counted(key), await effects(other.client, key)]).toEqual([
        isRefused ? [0, 0] : [2, 1],
        0,
      ]);
    }
  });

  test('of another copy of Prisma, on the same pool, is refused: its loader might send it from the context of another', async () => {
    const { client, pool } = here.another();
    const copy = createClient(here.url, { pool }); // it ends with the first one
    const { dataloader } = (copy as unknown as { _requestHandler: { dataloader: Loader } })._requestHandler;
    dataloader.request = (asked) => dataloader.options.singleLoader(asked);
    const { key, outcome, error } = await execute(client, async ({ tx, key }) => {
      await effect(tx, key);
      await effect(copy, key);
    });
    expect([outcome, error]).toMatchObject([
      { ok: false },
      { message: expect.stringContaining('another copy of Prisma') },
    ]);
    expectCounted(await here.counted(key)).toEqual([0, 0]);
  });

  test('of another database that has an ambient kit of its own: its executions are refused within, and go by themselves outside', async () => {
    const other = await testDatabase();
    here.later(other.drop);
    const inner = (key: string) => execute(other.client, ({ tx }) => effect(tx, key), { key });
    const told: unknown[] = [];
    const { key, outcome } = await execute(here.client, async ({ tx, key }) => {
      await effect(tx, key);
      told.push(await ended(inner(`${key}-within`)));
      told.push((await outside(() => inner(`${key}-outside`))).outcome);
      return 'there';
    });
    expect([outcome, told]).toMatchObject([{ ok: true }, [{ name: 'ConfigurationError' }, { ok: true }]]);
    expectCounted([await here.counted(key), await effects(other.client, `${key}-outside`)]).toEqual([[1, 1], 1]);
  });

  test('of the same pool joins with its queries; a transaction of its own is refused, and works outside', async () => {
    const { client, pool } = here.another({ max: 2 });
    const second = createClient(here.url, { pool }); // it ends with the first one
    for (const isRefused of [true, false]) {
      const { key, outcome } = await execute(client, async ({ tx, key }) => {
        expect(await pidOf(second)).toBe(await pidOf(tx)); // told from one of another pool by a question of its own
        await second.auditRecord.create(create(key));
        expect(await second.auditRecord.findFirst({ where: { action: key } })).toMatchObject({ action: key });
        await second.order.create({ data: orderWithRefund(key) });
        const refused = { message: expect.stringMatching(/outside\(/) };
        expect(await ended(second.$transaction((own) => effect(own, `${key}-own`)))).toMatchObject(refused);
        const list = second.$transaction([second.auditRecord.create(create(`${key}-own`)), second.product.count()]);
        expect(await ended(list)).toMatchObject(refused);
        await outside(() => second.$transaction((own) => effect(own, `${key}-outside`)));
        if (isRefused) throw new Error('rolled back');
      });
      expect(outcome.ok).toBe(!isRefused);
      expectCounted([
        await here.counted(key),
        await here.written(`${key}-own`),
        await here.written(`${key}-outside`),
      ]).toEqual([isRefused ? [0, 0] : [1, 1], 0, 1]);
    }
  });
});

describe('a client whose executions are in transactions of Prisma’s', () => {
  const plain = () => {
    vi.stubEnv('POOL', 'plain');
    const made = here.another();
    vi.unstubAllEnvs();
    return made;
  };

  test.each<[string, () => Promise<object> | object]>([
    [
      'one that was disconnected, and has opened a pool of its own since',
      async () => {
        const { client, pool } = plain(); // the kit's adapter would wrap that one, too
        oncekitPool(pool);
        expect((await execute(client, ({ tx, key }) => effect(tx, key))).outcome).toMatchObject({ ok: true });
        await client.$disconnect();
        return client;
      },
    ],
    ["one in pg's pipeline mode", () => here.another({ pipeline: true } as pg.PoolConfig).client],
    [
      'one on pg-native', // which does not know what process of the server it has
      () => {
        const { client, pool } = here.another();
        pool.on('connect', (connection) => Object.assign(connection, { processID: undefined }));
        return client;
      },
    ],
  ])('%s executes, and what a handler writes by `tx` is in the transaction', async (_, make) => {
    const client = (await make()) as Client;
    const { key, outcome } = await execute(client, ({ tx, key }) => effect(tx, key));
    expect(outcome).toMatchObject({ ok: true });
    expectCounted(await here.counted(key)).toEqual([1, 1]);
    const failed = await execute(client, async ({ tx, key }) => {
      await effect(tx, key);
      throw new Error('rolled back');
    });
    expect(failed.outcome).toMatchObject({ ok: false, executed: false });
    expectCounted(await here.counted(failed.key)).toEqual([0, 0]);
  });
});

describe('an operation in phases', () => {
  test('atomic() is ambient, foreign(), capture() and the function itself are not, and its heart beats on', async () => {
    const { client } = here.another();
    const provider = new Provider();
    let fails = true;
    const where: Record<string, boolean> = {};
    const isWithin = async (key: string) => (await client.auditRecord.count({ where: { action: `${key}-open` } })) > 0;
    const operation = kit(client, { leaseMs: 1500 })
      .operation({ name: 'paid', schema: anything })
      .phases(async ({ key, atomic, foreign, capture }) => {
        await capture('number', async () => {
          await effect(client, `${key}-captured`);
          return 7;
        });
        await atomic('created', async (tx) => {
          await effect(tx, key);
          await effect(client, `${key}-open`);
          where.atomic = await isWithin(key);
          if (fails) throw new Error('rolled back');
        });
        provider.onCharge = async () => {
          await effect(client, `${key}-charged`);
          const renewed = async () =>
            (await here.watch.query('SELECT lease_until::text FROM idempotency_keys WHERE key = $1', [key])).rows[0];
          const before = await renewed();
          await until('the lease is renewed', async () => (await renewed()).lease_until !== before.lease_until);
          where.foreign = (await here.written(`${key}-charged`)) > 0; // committed at once
        };
        const charge = await foreign('charged', provider.call(key));
        await atomic('paid', () => client.$transaction((tx) => effect(tx, `${key}-paid`)));
        return charge.id;
      });
    const key = freshKey();
    expect(await operation.execute({ key, payload: {} })).toMatchObject({ ok: false });
    expectCounted([
      await here.written(key),
      await here.written(`${key}-open`),
      await here.written(`${key}-captured`),
    ]).toEqual([0, 0, 1]);
    fails = false;
    expect(await operation.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true, data: 'ch_1' });
    const names = ['', '-open', '-charged', '-paid'];
    expect(await Promise.all(names.map((name) => here.written(key + name)))).toEqual([1, 1, 1, 1]);
    expectCounted([where, provider.count(key)]).toEqual([{ atomic: true, foreign: true }, 1]);
  });
});

test('tables of other names: ours are found there, and the handler’s statements stay as they are', async () => {
  const database = await testDatabase();
  here.later(database.drop);
  const tables: Tables = { schema: 'Kit', idempotency_keys: 'Request_keys' };
  await database.client.$executeRawUnsafe('CREATE SCHEMA "Kit"');
  for (const table of TABLES) await database.client.$executeRawUnsafe(`ALTER TABLE ${table} SET SCHEMA "Kit"`);
  await database.client.$executeRawUnsafe('ALTER TABLE "Kit".idempotency_keys RENAME TO "Request_keys"');
  const stateOf = async (key: string) =>
    await database.client.$queryRawUnsafe('SELECT state FROM "Kit"."Request_keys" WHERE key = $1', key);
  const operation = kit(database.client, { tables })
    .operation({ name: 'order', schema: anything })
    .handler(async ({ tx, key, input }) => {
      await effect(tx, key);
      await effect(database.client, key);
      const [said] = await (tx as Client).$queryRaw<{ word: string }[]>`SELECT 'idempotency_keys' AS word`;
      if (input.fails) throw new Error('rolled back');
      return said?.word;
    });
  const [key, failing] = [freshKey(), freshKey()];
  const data = 'idempotency_keys';
  expect(await operation.execute({ key, payload: {} })).toMatchObject({ ok: true, replayed: false, data });
  expect(await operation.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ok: true, replayed: true, data });
  expect(await operation.execute({ key: failing, payload: { fails: true } })).toMatchObject({ ok: false });
  expect(await operation.status({ key })).toMatchObject({ state: 'succeeded' });
  expect([await stateOf(key), await stateOf(failing)]).toEqual([[{ state: 'succeeded' }], []]);
  expectCounted([await effects(database.client, key), await effects(database.client, failing)]).toEqual([2, 0]);
});
