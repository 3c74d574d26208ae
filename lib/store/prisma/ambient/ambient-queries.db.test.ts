import { makeTypedQueryFactory } from '@prisma/client/runtime/client';
import { describe, expect, test } from 'vitest';
import { expectCounted } from '../../../../scripts/testing/expect-counted.ts';
import type { Client } from '../../../../shop/db.ts';
import { effect } from '../../../integration/kit.fixture.ts';
import { ended, execute, orderWithRefund, pidOf, stage } from './ambient.fixture.ts';

/** Every kind of query that Prisma has, within one handler: one connection, and all of it committed or nothing. */

const here = stage();
const data = (action: string) => ({ action, tenant: 't', principal: 'p' });
const PID = 'SELECT pg_backend_pid() AS pid';

/** Everything a handler may ask, on the client it is given. Each tells what is wrong with its answer, if anything. */
const asked: [string, (db: Client, key: string) => Promise<unknown>, unknown][] = [
  ['create', (db, key) => db.auditRecord.create({ data: data(key) }).then(({ action }) => action === key), true],
  ['createMany', (db, key) => db.auditRecord.createMany({ data: [data(key), data(key)] }), { count: 2 }],
  [
    'createManyAndReturn',
    async (db, key) => (await db.auditRecord.createManyAndReturn({ data: [data(key)] })).length,
    1,
  ],
  ['findMany', async (db) => (await db.product.findMany({ where: { sku: 'mug' } })).length, 1],
  ['findFirst', async (db) => (await db.product.findFirst({ where: { sku: 'mug' } }))?.sku, 'mug'],
  ['findUnique', async (db) => (await db.product.findUnique({ where: { sku: 'mug' } }))?.sku, 'mug'],
  [
    'findUniqueOrThrow',
    async (db) => ((await ended(db.product.findUniqueOrThrow({ where: { sku: 'no' } }))) as Error).name,
    'PrismaClientKnownRequestError',
  ],
  [
    'update',
    async (db) => (await db.product.update({ where: { sku: 'mug' }, data: { stock: { increment: 0 } } })).sku,
    'mug',
  ],
  [
    'updateMany',
    (db) => db.product.updateMany({ where: { sku: 'mug' }, data: { stock: { increment: 0 } } }),
    { count: 1 },
  ],
  ['upsert that creates', async (db, key) => (await db.product.upsert(upsert(`${key}-new`))).name, 'created'],
  ['upsert that updates', async (db) => (await db.product.upsert(upsert('mug'))).name, 'updated'],
  ['deleteMany', (db, key) => db.cart.deleteMany({ where: { shopper: key } }), { count: 0 }],
  ['aggregate', async (db) => (await db.product.aggregate({ _count: true, where: { sku: 'mug' } }))._count, 1],
  ['groupBy', async (db) => (await db.product.groupBy({ by: ['sku'], where: { sku: 'mug' } })).length, 1],
  ['count', (db) => db.product.count({ where: { sku: 'mug' } }), 1],
  [
    'a nested write',
    async (db, key) =>
      (await db.order.create({ data: orderWithRefund(key), include: { refunds: true } })).refunds.length,
    1,
  ],
  [
    'a nested read',
    async (db) =>
      (
        await db.order.findMany({
          where: { principal: 'nobody' },
          include: { refunds: { include: { entries: true } } },
        })
      ).length,
    0,
  ],
  ['a relation of what was found', (db) => db.order.findUnique({ where: { id: crypto.randomUUID() } }).refunds(), null],
  ['$queryRaw', async (db) => (await db.$queryRaw<[{ n: number }]>`SELECT ${1}::int AS n`)[0].n, 1],
  ['$queryRawUnsafe', async (db) => (await db.$queryRawUnsafe<[{ n: number }]>('SELECT $1::int AS n', 2))[0].n, 2],
  [
    '$executeRaw',
    (db, key) => db.$executeRaw`INSERT INTO audit_records (action, tenant, principal) VALUES (${key}, 't', 'p')`,
    1,
  ],
  ['$executeRawUnsafe', (db) => db.$executeRawUnsafe('SELECT 1'), 1],
  ['$queryRawTyped', async (db) => ((await typedOn(db).$queryRawTyped(typed(3)))[0] as { n: number }).n, 3],
];
/** How many business rows they write in all. */
const WRITTEN = 5;

const upsert = (sku: string) => ({
  where: { sku },
  create: { sku, name: 'created', description: '', priceCents: 1, stock: 1 },
  update: { name: 'updated' },
});
const typed = makeTypedQueryFactory('SELECT $1::int AS n') as (n: number) => unknown;
type Typed = { $queryRawTyped: (query: unknown) => Promise<unknown[]> };
const typedOn = (db: Client) => db as unknown as Typed;

/** TypedSQL is behind a flag of the generator that the demo does not need. */
function withTypedSql(client: Client): Client {
  (client as unknown as { _engineConfig: { previewFeatures: string[] } })._engineConfig.previewFeatures = ['typedSql'];
  return client;
}

test('queries at once are sent one behind the other, as pg 9 will have it', async () => {
  const { client, pool } = here.another({ max: 1 });
  let [open, most] = [0, 0];
  pool.on('connect', (connection) => {
    const query = connection.query.bind(connection) as (...args: unknown[]) => unknown;
    const counting = (...args: unknown[]) => {
      const sent = query(...args);
      if (!(sent instanceof Promise)) return sent; // one of the kit's pipelines
      most = Math.max(most, ++open);
      return sent.finally(() => open--);
    };
    connection.query = counting as typeof connection.query;
  });
  const { outcome } = await execute(client, async ({ tx }) => {
    const pids = await Promise.all(Array.from({ length: 20 }, () => tx.$queryRawUnsafe<{ pid: number }[]>(PID)));
    return new Set(pids.map(([row]) => row?.pid)).size;
  });
  expect([outcome, most, open]).toMatchObject([{ ok: true, data: 1 }, 1, 0]);
});

describe.each([
  ['tx', (tx: Client) => tx],
  ['the global client', (_: Client, client: Client) => client],
] as const)('asked of %s', (_, of) => {
  const all = async (client: Client, how: 'in turn' | 'at once', isRefused: boolean) =>
    await execute(client, async ({ tx, key }) => {
      const db = of(tx, client);
      const own = await pidOf(db);
      const told: unknown[] = [];
      if (how === 'in turn') for (const [, ask] of asked) told.push(await ask(db, key));
      else {
        const answers = asked.flatMap(([, ask]) => [ask(db, key), pidOf(db)]);
        const pids: unknown[] = [];
        for (const [n, answer] of (await Promise.all(answers)).entries()) (n % 2 ? pids : told).push(answer);
        if (pids.some((pid) => pid !== own)) throw new Error('another connection');
      }
      if (isRefused) throw Object.assign(new Error('rolled back'), { told });
      return told;
    });

  test.each([
    ['in turn', false],
    ['at once', false],
    ['in turn', true],
    ['at once', true],
  ] as const)(
    'every kind of query, %s, is answered and goes with the transaction (rolled back: %s)',
    async (how, isRefused) => {
      const client = withTypedSql(here.another({ max: 2 }).client);
      const { key, outcome, error } = await all(client, how, isRefused);
      const told = outcome.ok ? (outcome.data as unknown) : ((error as { told?: unknown }).told ?? error);
      expect(told).toEqual(asked.map(([, , answer]) => answer));
      expect(outcome.ok).toBe(!isRefused);
      expectCounted(await here.counted(key)).toEqual(isRefused ? [0, 0] : [WRITTEN, 1]);
      const { rowCount } = await here.watch.query('SELECT 1 FROM products WHERE sku = $1', [`${key}-new`]);
      expect(rowCount).toBe(isRefused ? 0 : 1);
    },
  );
});

test('a nested write whose second statement fails: the whole of it is undone in a savepoint, and the rest commits', async () => {
  const { client } = here;
  const { key, error } = await execute(client, async ({ tx, key }) => {
    const [order, refund] = [orderWithRefund(key), crypto.randomUUID()];
    await tx.order.create({ data: { ...order, refunds: { create: { ...order.refunds.create, id: refund } } } });
    const twice = orderWithRefund(key);
    const failing = tx.$transaction((inner) =>
      inner.order.create({ data: { ...twice, refunds: { create: { ...twice.refunds.create, id: refund } } } }),
    );
    expect(await ended(failing)).toMatchObject({ code: 'P2002' });
    await effect(tx, key);
    return 'went on';
  });
  expectCounted([error, await here.counted(key)]).toEqual([undefined, [1, 1]]);
  const { rowCount } = await here.watch.query('SELECT 1 FROM orders WHERE principal = $1', [key]);
  expect(rowCount).toBe(1);
});
