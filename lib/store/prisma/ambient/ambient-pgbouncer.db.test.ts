/** @module-tag pgbouncer */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type PgBouncer, startPgBouncer } from '../../../../scripts/services/pgbouncer.ts';
import { expectCounted } from '../../../../scripts/testing/expect-counted.ts';
import { type Client, createClient } from '../../../../shop/db.ts';
import { effect, freshKey, gate } from '../../../integration/kit.fixture.ts';
import { outside } from '../async-context.ts';
import { ended, execute, orderWithRefund, pidOf, stage } from './ambient.fixture.ts';

/**
 * Behind a pooler in transaction mode, where each transaction gets another of two servers: what `pgbouncer.db.test.ts`
 * does not ask, because it is asked of an ambient transaction alone.
 */

const here = stage();
const SERVERS = 2;
let bouncer: PgBouncer;
let client: Client;
beforeAll(async () => {
  bouncer = await startPgBouncer(here.url, { connections: SERVERS });
  client = createClient(bouncer.url, { max: 20 });
});
afterAll(async () => {
  await client?.$disconnect();
  await bouncer?.close();
});

describe('PgBouncer in transaction mode', () => {
  test('every query of a handler has one server: in turn, at once, in savepoints, of several statements', async () => {
    const { key, outcome } = await execute(client, async ({ tx, key }) => {
      const pids = [await pidOf(tx), ...(await Promise.all(Array.from({ length: 10 }, () => pidOf(client))))];
      await effect(tx, key);
      await tx.order.create({ data: orderWithRefund(key) });
      const failing = tx.$transaction(async (inner) => {
        pids.push(await pidOf(inner as Client));
        await effect(inner, `${key}-gone`);
        await inner.product.create({ data: { sku: 'mug', name: '', description: '', priceCents: 1, stock: 1 } });
      });
      expect(await ended(failing)).toMatchObject({ code: 'P2002' });
      pids.push(...(await Promise.all([1, 2, 3].map(() => tx.$transaction((inner) => pidOf(inner as Client))))));
      return new Set(pids).size;
    });
    expect(outcome).toMatchObject({ ok: true, data: 1 });
    expectCounted([await here.counted(key), await here.written(`${key}-gone`)]).toEqual([[1, 1], 0]);
  });

  test('outside() has another server, and stays when the handler rolls back', async () => {
    const seen: boolean[] = [];
    const { key, outcome } = await execute(client, async ({ tx, key }) => {
      await effect(tx, key);
      seen.push((await pidOf(tx)) === (await outside(() => pidOf(client))));
      await outside(() => effect(client, `${key}-stays`));
      throw new Error('rolled back');
    });
    expectCounted([outcome.ok, seen, await here.counted(key), await here.written(`${key}-stays`)]).toEqual([
      false,
      [false],
      [0, 0],
      1,
    ]);
  });

  test('a handler that takes too long gives its server back, and its late queries meet nobody’s', async () => {
    const [late, after] = [gate(), gate<unknown>()];
    const { key, outcome } = await execute(
      client,
      async ({ tx, key }) => {
        await effect(tx, key);
        await late.opened;
        after.open(await ended(effect(tx, key)));
      },
      { timeoutMs: 500 },
    );
    expect(outcome).toMatchObject({ code: 'unavailable', executed: false });
    expect(await here.watch.inTransaction()).toBe(0);
    // Both servers are in use when it comes back.
    const [one, two] = [gate(), gate()];
    const others = [one, two].map((end) =>
      execute(client, async ({ tx, key }) => {
        await effect(tx, key);
        late.open();
        await Promise.all([end.opened, after.opened]);
      }),
    );
    expect(await after.opened).toMatchObject({ name: 'ExecutionClosedError' });
    one.open();
    two.open();
    for (const other of await Promise.all(others)) {
      expectCounted([other.outcome.ok, await here.counted(other.key)]).toEqual([true, [1, 1]]);
    }
    await here.expectAnother(client, key);
  });

  test('the pooler goes away in the handler: nothing is committed, and what is told is true', async () => {
    const gone = await startPgBouncer(here.url, { connections: SERVERS });
    const through = createClient(gone.url, { max: 2 });
    here.later(() => through.$disconnect());
    const key = freshKey();
    const { outcome } = await execute(
      through,
      async ({ tx }) => {
        await effect(tx, key);
        await gone.close();
        await tx.product.count();
      },
      { key },
    );
    expect(outcome).toMatchObject({ code: 'unavailable', executed: false });
    await here.watch.untilIdle();
    await here.expectAnother(client, key);
  });
});
