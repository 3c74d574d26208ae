import { AsyncResource } from 'node:async_hooks';
import { describe, expect, test } from 'vitest';
import { expectCounted } from '../../../../scripts/testing/expect-counted.ts';
import type { Client } from '../../../../shop/db.ts';
import { effect, freshKey, gate } from '../../../integration/kit.fixture.ts';
import { elsewhere, ended, execute, orderWithRefund, stage } from './ambient.fixture.ts';

/** The `tx` of an ambient execution, where the async context that leads to its transaction was lost. */

const here = stage();
const apart = elsewhere();

describe('a context that is lost', () => {
  const data = (action: string) => ({ data: { action, tenant: 't', principal: 'p' } });
  const taken = (tx: Client) => tx.auditRecord;

  /** Each writes the row in a context that was there before. */
  const ways: [string, (tx: Client, action: string) => Promise<unknown>][] = [
    ['a query', (tx, action) => apart(() => tx.auditRecord.create(data(action)))],
    [
      'a raw query',
      (tx, action) =>
        apart(() => tx.$executeRaw`INSERT INTO audit_records (action, tenant, principal) VALUES (${action}, 't', 'p')`),
    ],
    ['$transaction', (tx, action) => apart(() => tx.$transaction((inner) => effect(inner, action)))],
    ['$transaction as a list', (tx, action) => apart(() => tx.$transaction([tx.auditRecord.create(data(action))]))],
    [
      'a model that was taken from tx before',
      (tx, action) => {
        const auditRecord = taken(tx);
        return apart(() => auditRecord.create(data(action)));
      },
    ],
    [
      'a query that was made before, and is awaited there',
      (tx, action) => {
        const query = tx.auditRecord.create(data(action));
        return apart(() => query);
      },
    ],
    ['in a savepoint', (tx, action) => tx.$transaction((inner) => apart(() => inner.auditRecord.create(data(action))))],
    [
      'in a savepoint of the global client',
      (_, action) => here.client.$transaction((inner) => apart(() => inner.auditRecord.create(data(action)))),
    ],
    [
      'a nested write',
      async (tx, action) => {
        await apart(() => tx.order.create({ data: orderWithRefund(action) }));
        await apart(() => effect(tx, action));
      },
    ],
  ];

  test.each(ways)('%s through tx is in its transaction all the same, and goes with it', async (_, ask) => {
    for (const isRefused of [true, false]) {
      const { key, outcome } = await execute(here.client, async ({ tx, key }) => {
        await ask(tx, key);
        expectCounted(await here.written(key)).toBe(0);
        if (isRefused) throw new Error('rolled back');
      });
      expectCounted([outcome.ok, await here.counted(key)]).toEqual(isRefused ? [false, [0, 0]] : [true, [1, 1]]);
    }
  });

  test.each(ways.filter(([name]) => !name.includes('global')))(
    '%s through tx does nothing when its execution is over, and says so',
    async (_, ask) => {
      const kept: { tx?: Client } = {};
      await execute(here.client, async ({ tx }) => void Object.assign(kept, { tx }));
      const action = freshKey();
      const asking = ended((async () => await ask(kept.tx as Client, action))());
      expect(await asking).toMatchObject({ name: 'ExecutionClosedError' });
      expectCounted(await here.written(action)).toBe(0);
    },
  );

  test('the global client is its own there, as any other is', async () => {
    const { client } = here;
    const { key, outcome } = await execute(client, async ({ tx, key }) => {
      await effect(tx, key);
      await apart(() => effect(client, `${key}-apart`));
      throw new Error('rolled back');
    });
    expect([outcome.ok, await here.written(key), await here.written(`${key}-apart`)]).toEqual([false, 0, 1]);
  });

  test('bound to its context, it is in the transaction', async () => {
    const { client } = here;
    const { key, outcome } = await execute(client, async ({ tx, key }) => {
      await apart(AsyncResource.bind(() => effect(tx, key)));
      throw new Error('rolled back');
    });
    expectCounted([outcome, await here.counted(key)]).toMatchObject([{ code: 'internal' }, [0, 0]]);
  });

  test('tx of another execution leads to that one, and not into the one that asks', async () => {
    const { client } = here;
    const [mine, end] = [gate<Client>(), gate()];
    const first = execute(client, async ({ tx }) => {
      mine.open(tx);
      await end.opened;
      throw new Error('rolled back');
    });
    const other = await mine.opened;
    const action = freshKey();
    const { outcome } = await execute(client, async ({ tx }) => {
      await effect(other, action);
      return await tx.auditRecord.count({ where: { action } });
    });
    expect([outcome, await here.written(action)]).toMatchObject([{ ok: true, data: 0 }, 0]);
    end.open();
    expect([(await first).outcome.ok, await here.written(action)]).toEqual([false, 0]);
  });
});
