import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, test, vi } from 'vitest';
import { expectCounted } from '../../../../scripts/testing/expect-counted.ts';
import type { Client } from '../../../../shop/db.ts';
import { anything, effect, freshKey, kit, type Tx } from '../../../integration/kit.fixture.ts';
import { destination, outboxOn } from '../../../messaging/messaging.fixture.ts';
import { createInbox } from '../../../messaging/prisma.ts';
import { outside } from '../async-context.ts';
import { ended, execute, pidOf, stage } from './ambient.fixture.ts';

/** Which transaction a query is in is a matter of the async context it is made in: what keeps it, and what leaves it. */

const here = stage();

describe('what is asked of the pool itself', () => {
  test('is in the transaction, as a promise, with a callback, and on a connection of its own', async () => {
    const { client, pool } = here.another({ max: 2 });
    const insert = `INSERT INTO audit_records (action, tenant, principal) VALUES ($1, 't', 'p')`;
    const { key, outcome } = await execute(client, async ({ tx, key }) => {
      await pool.query(insert, [key]);
      await pool.query({ text: insert, values: [key] });
      await new Promise((told) => pool.query(insert, [key], (error) => told(error)));
      const failed = await new Promise((told) => pool.query('SELECT $1::int', ['no'], (error) => told(error.message)));
      expect(failed).toMatch(/invalid input syntax/);
      return await tx.auditRecord.count();
    });
    expectCounted([outcome.ok, await here.counted(key)]).toEqual([false, [0, 0]]);
    const again = await execute(client, async ({ key }) => {
      await pool.query(insert, [key]);
      const connection = await pool.connect();
      await connection.query(insert, [key]);
      connection.release();
      return await here.written(key);
    });
    expectCounted([again.outcome, await here.counted(again.key)]).toMatchObject([{ ok: true, data: 0 }, [2, 1]]);
  });

  test('but no transaction of its own: BEGIN is refused, and there in outside()', async () => {
    const { client, pool } = here.another({ max: 2 });
    const { key, outcome } = await execute(client, async ({ tx, key }) => {
      await effect(tx, key);
      const within = await pool.connect();
      expect(await ended(within.query('BEGIN'))).toMatchObject({ message: expect.stringContaining('outside()') });
      within.release();
      const own = await outside(() => pool.connect());
      const { rows } = await own.query('SELECT count(*)::int AS n FROM audit_records WHERE action = $1', [key]);
      own.release();
      return rows[0];
    });
    expectCounted([outcome, await here.counted(key)]).toMatchObject([{ ok: true, data: { n: 0 } }, [1, 1]]);
    expect([pool.totalCount - pool.idleCount, pool.waitingCount]).toEqual([0, 0]);
  });
});

describe('what leaves the transaction', () => {
  test('outside(): has another connection, stays when the handler rolls back, and does not see it', async () => {
    const { client } = here;
    const found: unknown[] = [];
    const { key, outcome } = await execute(client, async ({ tx, key }) => {
      await effect(tx, key);
      found.push((await outside(() => pidOf(client))) !== (await pidOf(client)));
      found.push(await outside(() => client.auditRecord.count({ where: { action: key } })));
      // As Prisma makes it, and not a promise yet when it leaves.
      await outside(() => client.auditRecord.create({ data: { action: `${key} lazy`, tenant: 't', principal: 'p' } }));
      await outside(() => client.$transaction((beside) => effect(beside, `${key} interactive`)));
      await outside(() => client.$transaction([client.product.count(), client.auditRecord.count()]));
      await client.$transaction(() => outside(() => effect(client, `${key} from a savepoint`)));
      throw new Error('rolled back');
    });
    expect([outcome, found]).toMatchObject([{ code: 'internal', executed: false }, [true, 0]]);
    const names = ['', ' lazy', ' interactive', ' from a savepoint'];
    expect(await Promise.all(names.map((name) => here.written(key + name)))).toEqual([0, 1, 1, 1]);
  });

  test('afterCommit, log, onError and onPoint', async () => {
    const { client, watch } = here;
    const heard: string[] = [];
    // Each asks where it is: the connection of the handler is the one that has not committed its effect.
    let own = 0;
    const ask = async (name: string) => {
      const [{ pid } = { pid: 0 }] = await client.$queryRaw<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`;
      if (pid !== own || name === 'afterCommit') heard.push(name);
      if (pid === own && name !== 'afterCommit') heard.push(`${name} within`);
    };
    const operation = kit(client, {
      log: ({ msg }) => ask(`log ${msg}`),
      onError: () => ask('onError'),
      onPoint: (point) => ask(`onPoint ${point}`),
    })
      .operation({ name: 'heard', schema: anything })
      .handler(async ({ tx, key, input, afterCommit }) => {
        own = await pidOf(tx);
        await effect(tx, key);
        const rows = () => watch.query('SELECT 1 FROM audit_records WHERE action = $1', [key]);
        expect((await rows()).rowCount).toBe(0);
        afterCommit(async () => {
          expect((await rows()).rowCount).toBe(1);
          await client.$transaction(() => effect(client, `${key} after`));
          await ask('afterCommit');
        });
        if (input.fails) throw new Error('as told');
        return 'there';
      });
    const key = freshKey();
    expect(await operation.execute({ key, payload: {} })).toMatchObject({ ok: true });
    expectCounted([await here.counted(key), await here.written(`${key} after`)]).toEqual([[1, 1], 1]);
    own = 0;
    const failing = await operation.execute({ key: freshKey(), payload: { fails: true } });
    expect(failing).toMatchObject({ code: 'internal' });
    await vi.waitFor(() => expect(heard).toContain('onError'));
    expect(heard).toEqual(expect.arrayContaining(['afterCommit', 'onPoint after-claim', 'onPoint before-commit']));
    expect(heard.some((name) => name.startsWith('log'))).toBe(true);
    // While the handler's connection is its own, nobody of these is on it.
    const during = heard.filter((name) => /after-claim|after-handler|before-commit/.test(name));
    expect(during.filter((name) => name.endsWith('within'))).toEqual([]);
  });

  test('what the kit asks by itself: status and fence of another key', async () => {
    const { client } = here.another({ max: 2 });
    const operation = kit(client)
      .operation({ name: 'asking', schema: anything })
      .handler(async ({ tx, key }) => {
        await effect(tx, key);
        const status = await operation.status({ key: 'nobody' });
        const fenced = await operation.fence({ key: `${key}-fenced` });
        if (fenced && status) throw new Error('rolled back');
        return 'there';
      });
    const key = freshKey();
    expect(await operation.execute({ key, payload: {} })).toMatchObject({ code: 'internal' });
    expectCounted([await here.counted(key), await here.counted(`${key}-fenced`)]).toEqual([
      [0, 0],
      [0, 1],
    ]);
  });

  test('an inbox that receives in a handler has a transaction of its own; an outbox is in that of its tx', async () => {
    const { client } = here.another();
    const outbox = outboxOn(client, [destination().route]);
    const handle = (tx: Tx, { eventId }: { eventId: string }) => effect(tx, eventId);
    const inbox = createInbox({ prisma: client, sources: { bank: { handle } }, onReport: () => {} });
    const told: unknown[] = [];
    for (const isRefused of [true, false]) {
      const { key, outcome } = await execute(client, async ({ tx, key }) => {
        await effect(tx, key);
        await outbox.enqueue(tx, { type: 'paid', aggregate: key, payload: {} });
        told.push(await inbox.receiveOnce({ source: 'bank', eventId: `${key}-event`, payload: {} }));
        if (isRefused) throw new Error('rolled back');
      });
      expect(outcome.ok).toBe(!isRefused);
      const events = await here.watch.query('SELECT 1 FROM outbox_events WHERE aggregate = $1', [key]);
      expectCounted([await here.counted(key), events.rowCount, await here.written(`${key}-event`)]).toEqual(
        isRefused ? [[0, 0], 0, 1] : [[1, 1], 1, 1],
      );
    }
    expect(told).toMatchObject([{ kind: 'processed' }, { kind: 'processed' }]);
  });
});

describe('an execution within an execution', () => {
  const define = (
    client: Client,
    run: (inner: () => Promise<unknown>, later: (run: () => void) => void) => unknown,
  ) => {
    const inner = kit(client)
      .operation({ name: 'inner', schema: anything })
      .handler(({ tx, key }) => effect(tx, key));
    return async (key: string) =>
      await execute(
        client,
        async ({ tx, afterCommit }) => {
          await effect(tx, key);
          return await run(() => inner.execute({ key: `${key}-inner`, payload: {} }), afterCommit);
        },
        { key },
      );
  };

  test('is refused, and commits nothing; so it is in a savepoint', async () => {
    const { client } = here;
    for (const run of [
      (inner: () => Promise<unknown>) => inner(),
      (inner: () => Promise<unknown>) => client.$transaction(inner),
    ]) {
      const key = freshKey();
      const { outcome, error } = await define(client, run)(key);
      expect([outcome.ok, error]).toMatchObject([false, { name: 'ConfigurationError' }]);
      expectCounted([await here.counted(key), await here.counted(`${key}-inner`)]).toEqual([
        [0, 0],
        [0, 0],
      ]);
    }
  });

  test('is one of its own in outside(), and in afterCommit', async () => {
    const { client } = here;
    for (const run of [
      (inner: () => Promise<unknown>) => outside(inner).then(() => 'there'),
      async (inner: () => Promise<unknown>, afterCommit: (run: () => Promise<void>) => void) =>
        afterCommit(async () => void (await inner())),
    ]) {
      const key = freshKey();
      expect((await define(client, run)(key)).outcome).toMatchObject({ ok: true });
      expectCounted([await here.counted(key), await here.counted(`${key}-inner`)]).toEqual([
        [1, 1],
        [1, 1],
      ]);
    }
  });
});

test("others' contexts stay: a request's is there in the handler, in a savepoint, and in outside()", async () => {
  const { client } = here;
  const request = new AsyncLocalStorage<string>();
  const names = await request.run('request 1', async () => {
    const { outcome } = await execute(client, async ({ tx, afterCommit }) => {
      const seen = [request.getStore(), await outside(async () => request.getStore())];
      await tx.$transaction(async () => void seen.push(request.getStore()));
      await tx.product.findUnique({ where: { sku: 'mug' } });
      afterCommit(() => void seen.push(request.getStore()));
      return [...seen, request.getStore()];
    });
    return outcome.ok && outcome.data;
  });
  expect(names).toEqual(Array.from({ length: 4 }, () => 'request 1'));
});
