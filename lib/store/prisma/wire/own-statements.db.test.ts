import { beforeEach, expect, test } from 'vitest';
import { expectCounted } from '../../../../scripts/testing/expect-counted.ts';
import type { Client } from '../../../../shop/db.ts';
import { effect } from '../../../integration/kit.fixture.ts';
import { type Context, ended, execute, stage } from '../ambient/ambient.fixture.ts';
import { sqlOf } from '../handler-tx.ts';
import { storeOf } from '../prisma-harness.fixture.ts';
import { renewStatementNames } from './user-statements.ts';

/** Statements of the user's that servers keep. */

const here = stage();
beforeEach(renewStatementNames);

const kept = async (db: Pick<Client, '$queryRawUnsafe'>, prefix = 'oncekit_user') =>
  (
    await db.$queryRawUnsafe<{ n: number }[]>(
      `SELECT count(*)::int AS n FROM pg_prepared_statements WHERE name LIKE '${prefix}%'`,
    )
  )[0]?.n;

async function times(count: number, client: Client, handle: (context: Context) => Promise<unknown>) {
  let last: Awaited<ReturnType<typeof execute>> | undefined;
  for (let n = 0; n < count; n++) last = await execute(client, handle);
  return last;
}

const reading = async ({ tx }: Context) =>
  (await tx.$queryRawUnsafe<object[]>('SELECT * FROM kept WHERE $1', true))[0] ?? null;

test('within executions, from the third use on; elsewhere none', async () => {
  const { client } = here.another({ max: 1 });
  const find = ({ tx }: Context) => tx.product.findMany({ where: { sku: 'mug' } });
  for (let n = 0; n < 5; n++) await client.product.findMany({ where: { sku: 'mug' } });
  await times(2, client, find);
  expect(await kept(client)).toBe(0);
  await times(2, client, find);
  expect(await kept(client)).toBe(1);
});

test.each([
  "SET LOCAL a.b = '1'; SET LOCAL a.c = '2'",
  'SELECT 1; SELECT 2',
  'CREATE TEMP TABLE many ON COMMIT DROP AS SELECT 1; DROP TABLE many',
  '-- nothing',
])('%j has no values, and is as often what it is without the kit: several commands in one text', async (text) => {
  const { client } = here.another({ max: 1 });
  for (let n = 0; n < 5; n++) {
    const { outcome } = await execute(client, async ({ tx }) => {
      await tx.$executeRawUnsafe(text);
      await tx.$transaction(async (inner) => void (await inner.$executeRawUnsafe(text)));
      await sqlOf(tx).query(text);
    });
    expect(outcome).toMatchObject({ ok: true });
  }
});

test.each(['ALTER TABLE kept ADD COLUMN b int DEFAULT 2', 'ALTER TABLE kept ALTER COLUMN a TYPE text'])(
  'a migration while the app runs, %j: the next execution on each connection is answered as before it',
  async (migration) => {
    const { client } = here.another({ max: 3 });
    await here.watch.query('CREATE TABLE kept AS SELECT 1 AS a');
    here.later(() => here.watch.query('DROP TABLE kept'));
    const together = () => Promise.all(Array.from({ length: 12 }, () => execute(client, reading)));
    await together();
    await together();
    expect(await kept(client)).toBeGreaterThan(0);
    await here.watch.query(migration);
    for (const { outcome } of [...(await together()), ...(await together())]) {
      expect(outcome).toMatchObject({ ok: true, data: (await here.watch.query('SELECT * FROM kept')).rows[0] });
    }
  },
);

test.each(['DEALLOCATE ALL', 'DISCARD ALL'])('%s behind the kit’s back: tried again, and answered', async (text) => {
  const { client } = here.another({ max: 1 });
  const handle = async ({ tx, key }: Context) => {
    await effect(tx, key);
    return tx.product.count();
  };
  await times(4, client, handle);
  expect(await kept(client)).toBeGreaterThan(0);
  await client.$executeRawUnsafe(text);
  for (let n = 0; n < 4; n++) {
    const { key, outcome } = await execute(client, handle);
    expectCounted([outcome, await here.counted(key)]).toMatchObject([{ ok: true, replayed: false }, [1, 1]]);
  }
});

test.each(['DEALLOCATE ALL', 'DISCARD ALL'])(
  '%s behind the kit’s back: what it asks and writes by itself goes on',
  async (text) => {
    const { client } = here.another({ max: 1 });
    const store = storeOf(client);
    const id = { tenant: 'acme', principal: 'ann', operation: 'checkout' };
    const event = (actor: string) => ({ type: 'late_answer', actor, detail: null }) as const;
    const fence = (key: string) =>
      store.fence({ ...id, key, mintedAt: null, windowMs: 1000, retentionMs: 1000, waitMs: 0 });
    await store.recordEvent({ ...id, key: `${text} a` }, event('before'));
    expect(await fence(`${text} a`)).toEqual({ kind: 'fenced' });
    expect(await kept(client, 'oncekit_')).toBeGreaterThan(0);
    await client.$executeRawUnsafe(text);
    await store.recordEvent({ ...id, key: `${text} a` }, event('behind'));
    await client.$executeRawUnsafe(text);
    expect(await fence(`${text} b`)).toEqual({ kind: 'fenced' });
    expect((await store.events({ ...id, key: `${text} a` })).map(({ actor }) => actor)).toEqual([
      'before',
      'client',
      'behind',
    ]);
  },
);

test('the handler swallows the error of a statement that was forgotten: tried again all the same', async () => {
  const { client } = here.another({ max: 1 });
  let runs = 0;
  const handle = async ({ tx, key }: Context) => {
    runs++;
    await effect(tx, key);
    const failed = await ended(tx.$transaction(async (inner) => void (await inner.product.count())));
    return failed instanceof Error ? failed.message : 'counted';
  };
  await times(4, client, handle);
  // Of the user's alone, so that the claim goes through, and the handler meets it.
  const names = await client.$queryRawUnsafe<{ name: string }[]>(
    `SELECT name FROM pg_prepared_statements WHERE name LIKE 'oncekit_user%' AND statement LIKE '%products%'`,
  );
  for (const { name } of names) await client.$executeRawUnsafe(`DEALLOCATE "${name}"`);
  runs = 0;
  const { key, outcome } = await execute(client, handle);
  expectCounted([outcome, runs, await here.counted(key)]).toMatchObject([{ ok: true, data: 'counted' }, 2, [1, 1]]);
});
