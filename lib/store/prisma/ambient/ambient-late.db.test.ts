import type pg from 'pg';
import { describe, expect, test } from 'vitest';
import { expectCounted } from '../../../../scripts/testing/expect-counted.ts';
import type { Client } from '../../../../shop/db.ts';
import { effect, freshKey, gate } from '../../../integration/kit.fixture.ts';
import { type Context, ended, execute, orderWithRefund, stage } from './ambient.fixture.ts';

/**
 * Queries within an execution that has ended. The pool has one connection, so that whatever got onto it would be
 * seen by the execution behind it.
 */

const here = stage();
const only = () => here.another({ max: 1 });
const closed = { name: 'ExecutionClosedError' };
const data = (action: string) => ({ data: { action, tenant: 't', principal: 'p' } });

const ways: [string, (context: Context, pool: pg.Pool, action: string) => Promise<unknown>][] = [
  ['a query of tx', ({ tx }, _, action) => tx.auditRecord.create(data(action))],
  ['findUnique of tx', ({ tx }) => tx.product.findUnique({ where: { sku: 'mug' } })],
  ['$queryRaw of tx', ({ tx }) => tx.$queryRaw`SELECT pg_advisory_lock(1)::text`],
  ['$executeRaw of tx', ({ tx }) => tx.$executeRaw`DELETE FROM carts`],
  ['$transaction of tx', ({ tx }, _, action) => tx.$transaction((inner) => effect(inner, action))],
  [
    '$transaction of tx, as a list',
    async ({ tx }, _, action) => tx.$transaction([tx.auditRecord.create(data(action))]),
  ],
];
const global: [string, (client: Client, pool: pg.Pool, action: string) => Promise<unknown>][] = [
  ['a query', (client, _, action) => client.auditRecord.create(data(action))],
  ['findUnique', (client) => client.product.findUnique({ where: { sku: 'mug' } })],
  ['$queryRaw', (client) => client.$queryRaw`SELECT pg_advisory_lock(1)::text`],
  ['$executeRaw', (client) => client.$executeRaw`SELECT pg_advisory_lock(1)`],
  ['a nested write', (client, _, action) => client.order.create({ data: orderWithRefund(action) })],
  ['$transaction', (client, _, action) => client.$transaction((inner) => effect(inner, action))],
  ['$transaction as a list', (client, _, action) => client.$transaction([client.auditRecord.create(data(action))])],
  ['pool.query', (_, pool) => pool.query('SELECT pg_advisory_lock(1)')],
  [
    'pool.query with a callback',
    (_, pool) => new Promise((told, no) => pool.query('SELECT pg_advisory_lock(1)', (e, r) => (e ? no(e) : told(r)))),
  ],
  ['pool.connect', (_, pool) => pool.connect().then((client) => client.release())],
  [
    'pool.connect with a callback',
    (_, pool) => new Promise((told, no) => pool.connect((e, _c, done) => (e ? no(e) : told(done())))),
  ],
];

describe.each([
  ['has committed', false],
  ['was rolled back', true],
] as const)('asked after its execution %s', (_, isRefused) => {
  const all = [
    ...ways.map(([name, ask]) => [name, ask] as const),
    ...global.map(
      ([name, ask]) =>
        [
          `${name} of the global client`,
          (_c: Context, pool: pg.Pool, action: string, client: Client) => ask(client, pool, action),
        ] as const,
    ),
  ];
  test.each(all)('%s does nothing, and says so', async (_, ask) => {
    const { client, pool } = only();
    const action = `${freshKey()}-late`;
    const { open, opened } = gate();
    const late: Promise<unknown>[] = [];
    const { key, outcome } = await execute(client, async (context) => {
      await effect(context.tx, context.key);
      late.push(ended(opened.then(() => ask(context, pool, action, client))));
      if (isRefused) throw new Error('rolled back');
    });
    expectCounted([outcome.ok, await here.counted(key)]).toEqual(isRefused ? [false, [0, 0]] : [true, [1, 1]]);
    open();
    expect(await late[0]).toMatchObject(closed);
    expectCounted(await here.written(action)).toBe(0);
    await here.expectCleanNext(client, pool);
  });
});
