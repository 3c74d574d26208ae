import { describe, expect, test } from 'vitest';
import { expectCounted } from '../../../../scripts/testing/expect-counted.ts';
import type { Client } from '../../../../shop/db.ts';
import { effect, freshKey, gate } from '../../../integration/kit.fixture.ts';
import { outside } from '../async-context.ts';
import { ended, execute, orderWithRefund, pidOf, stage } from './ambient.fixture.ts';

/** `$transaction` within a handler is a savepoint, of both forms and of both clients: that of the handler and the global one. */

const here = stage();
const data = (action: string) => ({ data: { action, tenant: 't', principal: 'p' } });
const written = (key: string, ...names: string[]) =>
  Promise.all(names.map((name) => here.written(name ? `${key}-${name}` : key)));

/** Breaks a unique index, as `create` of a row that is there. */
const violate = (db: Pick<Client, 'product'>) =>
  db.product.create({ data: { sku: 'mug', name: 'twice', description: '', priceCents: 1, stock: 1 } });

describe('an error that the handler catches', () => {
  test('a unique violation, then more writes: nothing is committed, and the error is clear', async () => {
    const { client } = here;
    const { key, outcome, error } = await execute(client, async ({ tx, key }) => {
      await effect(tx, key);
      expect(await ended(violate(tx))).toMatchObject({ code: 'P2002' });
      const behind = await ended(effect(tx, `${key}-behind`));
      expect(String(behind)).toMatch(/current transaction is aborted/);
      return 'as if nothing had been';
    });
    expect(outcome).toMatchObject({ ok: false, code: 'internal', executed: false });
    expect(String(error)).toMatch(/abort|failed/i);
    expectCounted([await here.counted(key), await written(key, 'behind')]).toEqual([[0, 0], [0]]);
  });

  test.each<[string, (tx: Client, client: Client) => Promise<unknown>]>([
    ['tx.$transaction', (tx) => tx.$transaction((inner) => violate(inner))],
    ['the global $transaction', (_, client) => client.$transaction(() => violate(client))],
    ['tx.$transaction as a list', (tx) => tx.$transaction([tx.product.count(), violate(tx)])],
    [
      'a $transaction that runs into an error of its own',
      (tx) => tx.$transaction(() => Promise.reject(new Error('own'))),
    ],
  ])('in %s: the handler goes on, and commits without it', async (_, fails) => {
    const { client } = here;
    const { key, outcome } = await execute(client, async ({ tx, key }) => {
      await effect(tx, key);
      expect(await ended(fails(tx, client))).toBeInstanceOf(Error);
      await effect(tx, `${key}-behind`);
      return 'went on';
    });
    expect(outcome).toMatchObject({ ok: true, data: 'went on' });
    expectCounted([await here.counted(key), await written(key, 'behind')]).toEqual([[1, 1], [1]]);
  });

  test('the query that fails is told as Prisma tells it, outside and in a savepoint alike', async () => {
    const { client } = here;
    const plain = (await ended(violate(client))) as Error;
    const told: unknown[] = [];
    await execute(client, async ({ tx }) => {
      told.push(await ended(tx.$transaction(() => violate(tx))));
      told.push(await ended(violate(tx)));
    });
    for (const each of told) {
      expect(each).toMatchObject({ name: plain.name, code: 'P2002', meta: { modelName: 'Product' } });
    }
  });
});

describe('$transaction', () => {
  test('three deep: what fails goes with what is in it, and what is around it stays', async () => {
    const { client } = here;
    const { key, outcome } = await execute(client, async ({ tx, key }) => {
      await effect(tx, key);
      await tx.$transaction(async (one) => {
        await effect(one, `${key}-1`);
        const two = (one as Client).$transaction(async (inner) => {
          await effect(inner, `${key}-2`);
          await (inner as Client).$transaction((three) => effect(three, `${key}-3`));
          throw new Error('the second');
        });
        expect(await ended(two)).toMatchObject({ message: 'the second' });
        await (one as Client).$transaction((again) => effect(again, `${key}-again`));
      });
      return await pidOf(tx);
    });
    expect(outcome).toMatchObject({ ok: true });
    expectCounted(await written(key, '', '1', '2', '3', 'again')).toEqual([1, 1, 0, 0, 1]);
  });

  test('gives what its function gives, also a query that Prisma has not begun; as a list, the results in order', async () => {
    const { client } = here;
    const { key, outcome } = await execute(client, async ({ tx, key }) => {
      const lazy = await tx.$transaction((inner) => inner.auditRecord.create(data(key)));
      const [count, [raw], one] = await client.$transaction([
        client.auditRecord.count({ where: { action: key } }),
        client.$queryRaw<[{ n: number }]>`SELECT 7 AS n`,
        client.product.findUnique({ where: { sku: 'mug' } }),
      ]);
      return [lazy.action, count, raw, one?.sku];
    });
    expect(outcome).toMatchObject({ ok: true, data: [key, 1, { n: 7 }, 'mug'] });
  });

  test('a query that its function gives and that fails is rolled back with it', async () => {
    const { client } = here;
    const { key, outcome } = await execute(client, async ({ tx, key }) => {
      const failing = tx.$transaction(async (inner) => {
        await effect(inner, `${key}-gone`);
        return violate(inner);
      });
      expect(await ended(failing)).toMatchObject({ code: 'P2002' });
      await effect(tx, key);
    });
    expectCounted([outcome, await here.counted(key), await written(key, 'gone')]).toMatchObject([
      { ok: true },
      [1, 1],
      [0],
    ]);
  });

  test('siblings wait for each other, and each goes or stays by itself', async () => {
    const { client } = here;
    const order: string[] = [];
    const { key, outcome } = await execute(client, async ({ tx, key }) => {
      const names = ['a', 'b', 'c', 'd'];
      const siblings = names.map((name, n) =>
        (n % 2 ? client : tx).$transaction(async (inner) => {
          order.push(`${name} in`);
          await effect(inner, `${key}-${name}`);
          await (inner as Client).$transaction((deeper) => effect(deeper, `${key}-${name}`));
          order.push(`${name} out`);
          if (n % 2) throw new Error(name);
        }),
      );
      return (await Promise.allSettled(siblings)).map(({ status }) => status);
    });
    expect(outcome).toMatchObject({ ok: true, data: ['fulfilled', 'rejected', 'fulfilled', 'rejected'] });
    expect(order).toEqual(['a', 'b', 'c', 'd'].flatMap((name) => [`${name} in`, `${name} out`]));
    expectCounted(await written(key, 'a', 'b', 'c', 'd')).toEqual([2, 0, 2, 0]);
  });

  test('a branch beside an open one waits for it, and is not rolled back with it', async () => {
    const { client } = here;
    const { key, outcome } = await execute(client, async ({ tx, key }) => {
      const [open, end] = [gate(), gate()];
      let isOpen = true;
      const nested = tx.$transaction(async (inner) => {
        await effect(inner, `${key}-nested`);
        open.open();
        await end.opened;
        isOpen = false;
        throw new Error('rolled back');
      });
      await open.opened;
      const beside = [
        effect(tx, `${key}-beside`).then(() => isOpen),
        client.product.findUnique({ where: { sku: 'mug' } }).then(() => isOpen),
        client.$executeRaw`SELECT 1`.then(() => isOpen),
      ];
      // They are on their way; a query of the server's own shows that time has passed for them.
      await here.watch.query('SELECT 1');
      end.open();
      return [String(await ended(nested)), ...(await Promise.all(beside))];
    });
    expect(outcome).toMatchObject({ ok: true, data: ['Error: rolled back', false, false, false] });
    expectCounted(await written(key, 'nested', 'beside')).toEqual([0, 1]);
  });

  test('a query of several statements that is under way is not cut in two by it, and may be awaited in it', async () => {
    const { client, watch } = here;
    // Its first statement waits in the server while the savepoint is begun.
    await here.trigger('TRIGGER fault AFTER INSERT ON orders', 'PERFORM pg_advisory_xact_lock(4713); RETURN NEW;');
    await watch.query('SELECT pg_advisory_lock(4713)');
    const { outcome } = await execute(client, async ({ tx, key }) => {
      const order = tx.order.create({ data: orderWithRefund(key) }).then(({ id }) => id);
      await watch.untilWaiting(1);
      const nested = tx.$transaction(async (inner) => await inner.refund.count({ where: { orderId: await order } }));
      await watch.query('SELECT pg_advisory_unlock(4713)');
      return await nested;
    });
    expect(outcome).toMatchObject({ ok: true, data: 1 });
  });

  test('a list of what is no query of Prisma’s is refused as Prisma refuses it, and does not wait for itself', async () => {
    const { client } = here;
    const { key, outcome } = await execute(client, async ({ tx, key }) => {
      const begun = effect(tx, key); // before the savepoint, and so no part of it
      const list = (tx as Client).$transaction([begun] as never);
      const told = String(await ended(list));
      await begun;
      return told;
    });
    expect(outcome).toMatchObject({ ok: true, data: expect.stringContaining('Prisma Client promises') });
    expectCounted(await here.counted(key)).toEqual([1, 1]);
  });

  test('its tx is over with it', async () => {
    const { client } = here;
    const { key, outcome } = await execute(client, async ({ tx, key }) => {
      const { open, opened } = gate();
      let late: Promise<unknown> | undefined;
      await tx.$transaction(async (inner) => {
        late = ended(opened.then(() => effect(inner, `${key}-late`)));
        await effect(inner, key);
      });
      open();
      return ((await late) as Error).name;
    });
    expect(outcome).toMatchObject({ ok: true, data: 'ExecutionClosedError' });
    expectCounted(await written(key, '', 'late')).toEqual([1, 0]);
  });

  test('an isolation level that the execution has, or a lower one, is as none', async () => {
    const { client } = here;
    const { key, outcome } = await execute(
      client,
      async ({ tx, key }) => {
        for (const isolationLevel of ['RepeatableRead', 'ReadCommitted', 'ReadUncommitted'] as const) {
          await client.$transaction((inner) => effect(inner, key), { isolationLevel });
          await (tx as Client).$transaction([client.auditRecord.create(data(key))], { isolationLevel });
        }
        return 'done';
      },
      { isolationLevel: 'RepeatableRead' },
    );
    expectCounted([outcome, await here.counted(key)]).toMatchObject([{ ok: true, data: 'done' }, [6, 1]]);
  });

  test('a higher isolation level is refused, and nothing of it runs', async () => {
    const { client } = here;
    const isolationLevel = 'Serializable' as const;
    const { key, outcome } = await execute(client, async ({ tx, key }) => {
      const own = (tx as Client).$transaction((inner) => effect(inner, key), { isolationLevel });
      expect(await ended(own)).toMatchObject({ name: 'ConfigurationError', existing: isolationLevel });
      const list = client.$transaction([client.auditRecord.create(data(key))], { isolationLevel });
      expect(await ended(list)).toMatchObject({ name: 'ConfigurationError' });
      return 'went on';
    });
    expectCounted([outcome, await here.counted(key)]).toMatchObject([{ ok: true, data: 'went on' }, [0, 1]]);
  });

  test.each<[string, (tx: Client, never: Promise<void>) => unknown]>([
    ['a function', (tx, never) => tx.$transaction(() => never)],
    ['a list', (tx) => tx.$transaction([tx.$queryRaw`SELECT pg_sleep(0.2)::text`])],
    ['two, of which one waits', (tx, never) => [tx.$transaction(() => never), ended(tx.$transaction(() => never))][0]],
  ])('%s that is not awaited: a clear error, and everything is rolled back', async (_, begin) => {
    const { client } = here.another({ max: 1 });
    const { open, opened } = gate();
    let unawaited: Promise<unknown> | undefined;
    const { key, outcome, error } = await execute(client, async ({ tx, key }) => {
      await effect(tx, key);
      unawaited = ended(begin(tx, opened) as Promise<unknown>);
      await outside(() => effect(here.client, freshKey())); // it has begun by now
    });
    open();
    await unawaited;
    expect(outcome).toMatchObject({ ok: false, code: 'internal', executed: false });
    expect(error?.message).toMatch(/still running when .* returned. Await it/);
    expectCounted(await here.counted(key)).toEqual([0, 0]);
    expect((await execute(client, ({ tx, key }) => effect(tx, key), { key })).outcome).toMatchObject({ ok: true });
    expectCounted(await here.counted(key)).toEqual([1, 1]);
  });
});
