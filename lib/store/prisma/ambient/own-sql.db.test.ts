import { Kysely, PostgresDialect } from 'kysely';
import { expect, expectTypeOf, test } from 'vitest';
import { expectCounted } from '../../../../scripts/testing/expect-counted.ts';
import type { Client } from '../../../../shop/db.ts';
import { anything, effect, freshKey, kit } from '../../../integration/kit.fixture.ts';
import { sqlOf } from '../handler-tx.ts';
import { type Context, ended, execute, stage } from './ambient.fixture.ts';

/** SQL past Prisma's engine, in the transaction of an execution. */

const here = stage();

interface Tables {
  audit_records: { action: string; tenant: string; principal: string };
}

const insert = (tx: Client, action: string) =>
  sqlOf(tx)<{
    action: string;
  }>`INSERT INTO audit_records (action, tenant, principal) VALUES (${action}, ${'t'}, ${'p'}) RETURNING action`;

const building = (tx: Client) => new Kysely<Tables>({ dialect: new PostgresDialect({ pool: sqlOf(tx).pool }) });

const ways: [string, (tx: Client, action: string) => Promise<unknown>][] = [
  ['a template', insert],
  [
    'a text',
    (tx, action) =>
      sqlOf(tx).query(`INSERT INTO audit_records (action, tenant, principal) VALUES ($1, 't', 'p')`, [action]),
  ],
  [
    'Kysely',
    (tx, action) => building(tx).insertInto('audit_records').values({ action, tenant: 't', principal: 'p' }).execute(),
  ],
];

test.each(ways)('%s: committed with the key, seen by tx, rolled back with it', async (_, write) => {
  const { client } = here.another();
  const seen: number[] = [];
  const handle = async ({ tx, key }: Context) => {
    await write(tx, key);
    seen.push(await tx.auditRecord.count({ where: { action: key } }));
    seen.push(await here.written(key));
  };
  const { key } = await execute(client, handle);
  expectCounted([seen.splice(0), await here.counted(key)]).toEqual([
    [1, 0],
    [1, 1],
  ]);
  const failed = await execute(client, async (context) => {
    await handle(context);
    throw new Error('rolled back');
  });
  expectCounted([seen, failed.outcome.ok, await here.counted(failed.key)]).toEqual([[1, 0], false, [0, 0]]);
});

test('in a savepoint of tx it is rolled back with that', async () => {
  const { key, outcome } = await execute(here.another().client, async ({ tx, key }) => {
    await effect(tx, key);
    await ended(
      tx.$transaction(async (inner) => {
        await insert(inner as Client, key);
        throw new Error('rolled back');
      }),
    );
  });
  expectCounted([outcome.ok, await here.counted(key)]).toEqual([true, [1, 1]]);
});

test.each(ways)('%s, behind the end of its execution: refused, and nothing is done', async (_, write) => {
  let late: Client | undefined;
  const { client } = here.another({ max: 1 });
  const { key } = await execute(client, async ({ tx, key }) => {
    late = tx;
    await effect(tx, key);
  });
  expect(await ended(write(late as Client, key))).toMatchObject({ name: 'ExecutionClosedError' });
  expectCounted(await here.counted(key)).toEqual([1, 1]);
});

test.each(['COMMIT', 'ROLLBACK', ' commit'])('%j is refused', async (text) => {
  const { outcome } = await execute(here.another().client, async ({ tx }) => {
    const error = (await ended(sqlOf(tx).query(text))) as Error;
    return error.message;
  });
  expect(outcome).toMatchObject({ ok: true, data: expect.stringContaining('must not end, or begin again') });
});

test('a transaction of the query builder’s own is refused: it is in one', async () => {
  const { key, outcome } = await execute(here.another().client, async ({ tx, key }) => {
    await effect(tx, key);
    const began = building(tx)
      .transaction()
      .execute(async () => {});
    return ((await ended(began)) as Error).message;
  });
  expect(outcome).toMatchObject({ ok: true, data: expect.stringContaining('must not end, or begin again') });
  expectCounted(await here.counted(key)).toEqual([1, 1]);
});

test('a cursor is refused: it would outlast its statement', async () => {
  const { outcome } = await execute(here.another().client, async ({ tx }) => {
    const connection = await sqlOf(tx).pool.connect();
    expect(() => connection.query({ submit: () => {} })).toThrow(TypeError);
  });
  expect(outcome.ok).toBe(true);
});

test('a conflict with others is tried again, as one of Prisma’s is', async () => {
  const { client } = here.another();
  let runs = 0;
  const { key, outcome } = await execute(
    client,
    async ({ tx, key }) => {
      await insert(tx, key);
      if (++runs > 1) return;
      const raise = `DO $$ BEGIN RAISE EXCEPTION 'conflict' USING ERRCODE = '40001'; END $$`;
      await sqlOf(tx).query(raise);
    },
    { isolationLevel: 'Serializable' },
  );
  expectCounted([outcome.ok, runs, await here.counted(key)]).toEqual([true, 2, [1, 1]]);
});

test('a statement that fails has aborted the transaction, also where its error is caught', async () => {
  const { key, outcome } = await execute(here.another().client, async ({ tx, key }) => {
    await effect(tx, key);
    await ended(sqlOf(tx).query('SELECT 1/0'));
  });
  expect(outcome).toMatchObject({ code: 'internal', executed: false });
  expectCounted(await here.counted(key)).toEqual([0, 0]);
});

test('a tx of Prisma’s own has none: refused, with what to do', async () => {
  const operation = kit(here.client, { transaction: 'interactive' })
    .operation({ name: 'checkout', schema: anything })
    .handler(async ({ tx }) => void (await insert(tx as Client, 'never')));
  expect(await operation.execute({ key: freshKey(), payload: {} })).toMatchObject({ ok: false, executed: false });
  expect(() => sqlOf(here.client)).toThrow(
    expect.objectContaining({ expected: expect.stringContaining('oncekit/adapter-pg') }),
  );
});

test('rows have the type that is said', () => {
  const typed = (tx: Client) => sqlOf(tx)<{ id: string }>`SELECT 1`;
  expectTypeOf(typed).returns.resolves.toEqualTypeOf<{ id: string }[]>();
});
