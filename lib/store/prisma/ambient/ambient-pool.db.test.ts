import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { describe, expect, test } from 'vitest';
import { expectCounted } from '../../../../scripts/testing/expect-counted.ts';
import { createClient } from '../../../../shop/db.ts';
import { anything, effect, effects, freshKey, gate, kit } from '../../../integration/kit.fixture.ts';
import { outside } from '../async-context.ts';
import { ended, execute, orderWithRefund, pidOf, stage } from './ambient.fixture.ts';

/** Many executions on few connections, and none to have. */

const here = stage();
const refused = { code: 'unavailable', executed: 'unknown', retry: 'same-key' };
const heldBy = ({ totalCount, idleCount, waitingCount }: pg.Pool) => [totalCount - idleCount, waitingCount];

describe('executions at once in one process', () => {
  test('200 over 5 connections never cross: each key has its own answer, its own order, or nothing', async () => {
    const { client, pool } = here.another({ max: 5 });
    const patient = { maxWait: 20_000, timeout: 20_000 };
    const operation = kit(client)
      .operation({ name: 'crowd', schema: anything, maxWaitMs: 20_000, timeoutMs: 20_000 })
      .handler(async ({ tx, key, input, fail }) => {
        const { id } = await tx.order.create({ data: { ...orderWithRefund(key), idempotencyKey: key } });
        const [own, nested] = await Promise.all([
          client.order.findUnique({ where: { id } }),
          client.$transaction((inner) => inner.order.findUnique({ where: { id } })),
        ]);
        if (own?.id !== id || nested?.id !== id) throw new Error('another one’s');
        if ((input.n as number) % 5 === 1) throw new Error('rolled back');
        if ((input.n as number) % 5 === 2) return fail('refused', { order: id });
        return { order: id };
      });
    // Beside them: transactions, lists and queries that have nothing to do with a key.
    const beside = Array.from({ length: 60 }, async (_, n) => {
      if (n % 3 === 0) await client.$transaction((tx) => effect(tx, 'beside'), patient);
      if (n % 3 === 1) await client.$transaction([client.auditRecord.count(), client.order.count()], patient);
      if (n % 3 === 2) await client.product.findUnique({ where: { sku: 'mug' } });
    });
    const wanted = Array.from({ length: 200 }, (_, n) => ({ n, key: `crowd-${n}` }));
    const told = await Promise.all(wanted.map(({ n, key }) => operation.execute({ key, payload: { n } })));
    await Promise.all(beside);

    const { rows } = await here.watch.query(
      `SELECT key, state, result FROM idempotency_keys WHERE operation = 'crowd'`,
    );
    const { rows: orders } = await here.watch.query(`
      SELECT o.id, o.idempotency_key AS key, count(r.id)::int AS refunds
        FROM orders o LEFT JOIN refunds r ON r.order_id = o.id WHERE o.idempotency_key LIKE 'crowd-%' GROUP BY o.id`);
    expect([rows.length, orders.length, await here.written('beside')]).toEqual([160, 160, 20]);
    for (const { n, key } of wanted) {
      const row = rows.find((each) => each.key === key);
      const [own, ...more] = orders.filter((order) => order.key === key);
      if (n % 5 === 1) {
        expect([told[n], row, own]).toMatchObject([{ code: 'internal', executed: false }, undefined, undefined]);
        continue;
      }
      const data = { order: own.id };
      expect(told[n]).toMatchObject(n % 5 === 2 ? { code: 'failed', data } : { ok: true, replayed: false, data });
      expect([more, own.refunds, row.state]).toEqual([[], 1, n % 5 === 2 ? 'failed' : 'succeeded']);
      expect(row.result).toContain(own.id);
    }
    expect(heldBy(pool)).toEqual([0, 0]);
  });

  test('of one key on two pools, in transactions of the kit and of Prisma: one executes, the others replay', async () => {
    let runs = 0;
    const clients = [here.client, here.another().client];
    const operations = clients.flatMap((client) =>
      ([{}, { transaction: 'interactive' }] as const).map((how) =>
        kit(client, how)
          .operation({ name: 'checkout', schema: anything })
          .handler(async ({ tx, key }) => {
            await effect(tx, key);
            return ++runs;
          }),
      ),
    );
    const keys = Array.from({ length: 20 }, freshKey);
    for (const key of keys) {
      const told = await Promise.all(operations.map((operation) => operation.execute({ key, payload: {} })));
      expect(new Set(told.map((outcome) => outcome.ok && outcome.data)).size).toBe(1);
      expect(told.filter((outcome) => outcome.ok && !outcome.replayed)).toHaveLength(1);
      expectCounted(await here.counted(key)).toEqual([1, 1]);
    }
    expect(runs).toBe(20);
  });

  test.each([
    ["one in Prisma's in the handler of one in the kit's", {}, { transaction: 'interactive' }],
    ["one in the kit's in the handler of one in Prisma's", { transaction: 'interactive' }, {}],
  ] as const)('of two executions, %s is one of its own', async (_, outerHow, innerHow) => {
    const { client } = here.another();
    const define = (name: string, how: { transaction?: 'interactive' }, run: (key: string) => Promise<unknown>) =>
      kit(client, how)
        .operation({ name, schema: anything })
        .handler(async ({ tx, key }) => {
          await effect(tx, key);
          return [await pidOf(tx), await run(key), await pidOf(tx)] as number[];
        });
    const inner = define('inner', innerHow, async () => 0);
    const outer = define('outer', outerHow, async (key) => {
      const { ok, ...told } = await inner.execute({ key: `${key}-inner`, payload: {} });
      return ok && 'data' in told ? (told.data as number[])[0] : told;
    });
    const key = freshKey();
    const told = await outer.execute({ key, payload: {} });
    const [before, within, behind] = told.ok ? told.data : [];
    expect([told.ok, before === behind, typeof within, within === before]).toEqual([true, true, 'number', false]);
    expectCounted([await here.counted(key), await here.counted(`${key}-inner`)]).toEqual([
      [1, 1],
      [1, 1],
    ]);
  });
});

describe('a pool that has no connection to give', () => {
  test('C6 the execution is refused in time, and the connection that comes too late goes back', async () => {
    const { client, pool } = here.another({ max: 1 });
    const [inside, end] = [gate(), gate()];
    const holding = execute(client, async ({ tx, key }) => {
      await effect(tx, key);
      inside.open();
      await end.opened;
    });
    await inside.opened;
    const quick = await execute(client, ({ tx, key }) => effect(tx, key), { maxWaitMs: 100 });
    expect(quick.outcome).toMatchObject(refused);
    end.open();
    const { key, outcome } = await holding;
    expect(outcome).toMatchObject({ ok: true });
    await here.expectAnother(client, quick.key);
    expectCounted([await here.counted(key), heldBy(pool), pool.totalCount]).toEqual([[1, 1], [0, 0], 1]);
  });

  test('the first execution of a client, which nobody has seen the pool of yet, is refused in time, too', async () => {
    const { client, pool } = here.another({ max: 1 });
    const taken = await pool.connect();
    const impatient = { maxWaitMs: 50, timeoutMs: 50 };
    const { key, outcome } = await execute(client, ({ tx, key }) => effect(tx, key), impatient);
    expect(outcome).toMatchObject(refused);
    taken.release();
    await here.expectAnother(client, key);
    expect(heldBy(pool)).toEqual([0, 0]);
  });

  test('a new connection that takes too long goes into the pool, with no transaction on it', async () => {
    const slow = gate();
    const verify = (_: pg.PoolClient, done: () => void) => void slow.opened.then(done);
    const { client, pool } = here.another({ max: 2, verify } as pg.PoolConfig);
    const { key, outcome } = await execute(client, ({ tx, key }) => effect(tx, key), { maxWaitMs: 100 });
    expect(outcome).toMatchObject(refused);
    slow.open();
    await here.expectAnother(client, key);
    await expect.poll(() => pool.totalCount - pool.idleCount, { interval: 5 }).toBe(0);
    expect([heldBy(pool), await here.watch.inTransaction()]).toEqual([[0, 0], 0]);
  });

  test('the database cannot be reached', async () => {
    const client = createClient('postgresql://postgres@127.0.0.1:1/nowhere');
    here.later(() => client.$disconnect());
    expect((await execute(client, ({ tx, key }) => effect(tx, key))).outcome).toMatchObject(refused);
  });

  test('outside() in a handler that holds the only one waits in vain, and ends with its execution', async () => {
    const { client, pool } = here.another({ max: 1 });
    const action = freshKey();
    const { key, outcome } = await execute(
      client,
      async ({ tx, key }) => {
        await effect(tx, key);
        await outside(() => effects(client, action));
      },
      { timeoutMs: 200 },
    );
    expect(outcome, 'there was no row, and the server has rolled back').toMatchObject({ ...refused, executed: false });
    await here.expectAnother(client, key);
    expect(heldBy(pool)).toEqual([0, 0]);
  });

  test('100 executions that end in every way leave every connection in the pool', async () => {
    const { client, pool } = here.another({ max: 3 });
    const ends = [
      ({ tx }: Parameters<Parameters<typeof execute>[1]>[0]) => effect(tx, randomUUID()),
      () => Promise.reject(new Error('rolled back')),
      ({ tx }: Parameters<Parameters<typeof execute>[1]>[0]) => tx.$queryRawUnsafe('SELECT 1/0'),
      ({ tx }: Parameters<Parameters<typeof execute>[1]>[0]) => ended(tx.$queryRawUnsafe('SELECT 1/0')),
      ({ tx }: Parameters<Parameters<typeof execute>[1]>[0]) => void ended(tx.$queryRawUnsafe('SELECT 1')),
      ({ tx }: Parameters<Parameters<typeof execute>[1]>[0]) =>
        ended(tx.$transaction(() => Promise.reject(new Error()))),
      () => new Promise(() => {}),
    ];
    const all = Array.from({ length: 100 }, (_, n) =>
      execute(client, async (context) => await ends[n % ends.length]?.(context), {
        maxWaitMs: 20_000,
        timeoutMs: n % ends.length === 6 ? 50 : 5000,
      }),
    );
    await Promise.all(all);
    await here.watch.untilIdle();
    expect([heldBy(pool), pool.totalCount <= 3]).toEqual([[0, 0], true]);
  });
});
