import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { describe, expect, test } from 'vitest';
import { expectCounted } from '../../../../scripts/testing/expect-counted.ts';
import { anything, effect, effects, freshKey, gate, kit } from '../../../integration/kit.fixture.ts';
import { outside } from '../async-context.ts';
import { ended, execute, pidOf, stage } from './ambient.fixture.ts';

/** Many executions on few connections, and none to have. */

const here = stage();
const refused = { code: 'unavailable', executed: 'unknown', retry: 'same-key' };
const heldBy = ({ totalCount, idleCount, waitingCount }: pg.Pool) => [totalCount - idleCount, waitingCount];

describe('an execution within an execution', () => {
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
