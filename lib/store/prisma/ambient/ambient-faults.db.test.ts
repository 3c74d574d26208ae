import { describe, expect, test } from 'vitest';
import { expectCounted } from '../../../../scripts/testing/expect-counted.ts';
import type { Client } from '../../../../shop/db.ts';
import { effect, gate, watchOf } from '../../../integration/kit.fixture.ts';
import { skipTime } from '../../../integration/skip-time.fixture.ts';
import { ended, execute, stage } from './ambient.fixture.ts';

/** Statements that fail and time that runs out, in an ambient transaction: nobody is told of a success that is none. */

const here = stage();
const only = () => here.another({ max: 1 });

const { expectAnother } = here;

describe('a statement that takes too long for the server (statement_timeout)', () => {
  const slow = (tx: Client) => tx.$queryRaw`SELECT pg_sleep(60)::text`;
  const limited = async (tx: Client) => await tx.$executeRawUnsafe(`SET LOCAL statement_timeout = '50ms'`);

  test('is refused as unavailable, and the limit goes with the transaction', async () => {
    const { client } = only();
    const { key, outcome } = await execute(client, async ({ tx, key }) => {
      await effect(tx, key);
      await limited(tx);
      await slow(tx);
    });
    expect(outcome).toMatchObject({ code: 'unavailable', executed: false, retry: 'same-key' });
    expect(await client.$queryRaw`SHOW statement_timeout`).toEqual([{ statement_timeout: '0' }]);
    await expectAnother(client, key);
  });

  test('in a savepoint: the rest commits', async () => {
    const { client } = only();
    const { key, outcome } = await execute(client, async ({ tx, key }) => {
      await effect(tx, key);
      const nested = tx.$transaction(async (inner) => {
        await limited(inner as Client);
        await slow(inner as Client);
      });
      return String(await ended(nested)).includes('57014');
    });
    expectCounted([outcome, await here.counted(key)]).toMatchObject([{ ok: true, data: true }, [1, 1]]);
  });
});

describe('timeoutMs', () => {
  test('in the handler: it is rolled back, its later queries are refused, and the connection is as good as before', async () => {
    const { client, pool } = only();
    const [inside, late] = [gate(), gate()];
    const after = gate<unknown[]>();
    const executing = execute(
      client,
      async ({ tx, key }) => {
        await effect(tx, key);
        inside.open();
        await late.opened;
        const asked = [effect(tx, key), effect(client, key), tx.$transaction((inner) => effect(inner, key))];
        after.open(await Promise.all([...asked, tx.product.findUnique({ where: { sku: 'mug' } })].map(ended)));
      },
      { timeoutMs: 20_000 },
    );
    await inside.opened;
    skipTime(20_000);
    const { key, outcome } = await executing;
    expect(outcome).toMatchObject({ code: 'unavailable', executed: false, retry: 'same-key' });
    // The server has it: the transaction is over for everybody, whatever the handler still believes.
    expect(await here.watch.inTransaction()).toBe(0);
    late.open();
    for (const each of await after.opened) expect(each).toMatchObject({ name: 'ExecutionClosedError' });
    expect([pool.totalCount, pool.idleCount]).toEqual([1, 1]);
    await expectAnother(client, key);
  });

  test('while a query of the handler waits for a lock: what it gets behind that is void', async () => {
    const { client, pool } = only();
    const holder = await watchOf(here.url);
    here.later(holder.close);
    await holder.query('BEGIN');
    await holder.query(`SELECT 1 FROM products WHERE sku = 'mug' FOR UPDATE`);
    const { key, outcome } = await execute(
      client,
      async ({ tx, key }) => {
        await effect(tx, key);
        await tx.product.update({ where: { sku: 'mug' }, data: { name: 'too late' } });
        await effect(tx, key);
      },
      { timeoutMs: 200 },
    );
    expect(outcome).toMatchObject({ code: 'unavailable', executed: false });
    // The connection still waits in the server; the pool has let go of it, and has room for another.
    expect([pool.totalCount - pool.idleCount, pool.waitingCount]).toEqual([0, 0]);
    expect((await execute(client, ({ tx, key }) => effect(tx, key))).outcome).toMatchObject({ ok: true });
    await holder.query('COMMIT');
    await here.watch.untilIdle();
    expect((await here.watch.query(`SELECT 1 FROM products WHERE name = 'too late'`)).rowCount).toBe(0);
    await expectAnother(client, key);
  });

  test('in a savepoint that waits for its own branch: it ends', async () => {
    const { client } = only();
    const { key, outcome } = await execute(
      client,
      async ({ tx, key }) => {
        await effect(tx, key);
        const { open, opened } = gate();
        const branch = opened.then(() => effect(tx, `${key}-branch`));
        await tx.$transaction(async () => {
          open();
          await branch; // which waits for this savepoint
        });
      },
      { timeoutMs: 200 },
    );
    expect(outcome).toMatchObject({ code: 'unavailable', executed: false });
    await expectAnother(client, key);
  });
});
