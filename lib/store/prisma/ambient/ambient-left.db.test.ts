import { EventEmitter } from 'node:events';
import { Readable } from 'node:stream';
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { expectCounted } from '../../../../scripts/testing/expect-counted.ts';
import { type Client, createClient } from '../../../../shop/db.ts';
import { effect, freshKey, gate } from '../../../integration/kit.fixture.ts';
import { outside } from '../async-context.ts';
import { ended, execute, orderWithRefund, pidOf, stage } from './ambient.fixture.ts';

/** Work that a handler leaves behind: queries that nobody awaits, timers, listeners, loaders, pools. */

const here = stage();
const only = () => here.another({ max: 1 });
const closed = { name: 'ExecutionClosedError' };
const data = (action: string) => ({ data: { action, tenant: 't', principal: 'p' } });

describe('what goes on by itself', () => {
  test.each(['tx', 'client'] as const)(
    'a query of %s that is not awaited is never lost beside a success',
    async (by) => {
      const { client, pool } = only();
      const told = new Set<string>();
      for (let hops = 0; hops < 40; hops++) {
        const action = `${freshKey()}-behind`;
        let unawaited: Promise<unknown> | undefined;
        let [hasReturned, isSentBehind] = [false, false];
        const { key, outcome, error } = await execute(client, async ({ tx }) => {
          await tx.product.count();
          const create = async () => {
            // By so many of these it is sent before the handler is at its end, or behind it.
            for (let hop = 0; hop < Math.min(hops, 15); hop++) await null;
            isSentBehind = hasReturned;
            return await (by === 'tx' ? tx : client).auditRecord.create(data(action));
          };
          unawaited = ended(create());
          // By so many of these it is nowhere yet when the handler returns, on the wire, or answered.
          for (let hop = 15; hop < hops; hop++) await new Promise((next) => setImmediate(next));
          hasReturned = true;
        });
        const came = await unawaited;
        const rows = [await here.written(action), (await here.counted(key))[1]];
        if (!outcome.ok) {
          expect([error?.message, rows]).toEqual([
            expect.stringMatching(/(still running|never awaited).* Await it/),
            [0, 0],
          ]);
          told.add('rolled back');
        } else if (by === 'tx' && isSentBehind) {
          expect([came, rows]).toMatchObject([closed, [0, 1]]);
          told.add('refused');
        } else {
          expect([came, rows]).toMatchObject([{ action }, [1, 1]]);
          told.add('done');
        }
      }
      expect([...told].sort()).toEqual(by === 'tx' ? ['done', 'refused', 'rolled back'] : ['done', 'rolled back']);
      await here.expectCleanNext(client, pool);
    },
  );

  test('a query of several statements that is not awaited is never committed by half', async () => {
    const { client, pool } = only();
    const { watch } = here;
    // The first of its statements waits in the server while the handler returns.
    await watch.query(`CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS
                       $$ BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NEW; END $$`);
    await watch.query('CREATE TRIGGER hold AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION hold()');
    here.later(() => watch.query('DROP FUNCTION hold() CASCADE'));
    await watch.query('SELECT pg_advisory_lock(4711)');
    const action = `${freshKey()}-late`;
    const returns = gate();
    let unawaited: Promise<unknown> | undefined;
    const executing = execute(client, async ({ tx }) => {
      unawaited = ended(tx.order.create({ data: orderWithRefund(action) }));
      await watch.untilWaiting(1);
      returns.open();
    });
    await returns.opened;
    await watch.query('SELECT pg_advisory_unlock(4711)');
    const { outcome, error } = await executing;
    const came = await unawaited;
    const rows = (sql: string) => watch.query(sql, [action]).then(({ rowCount }) => rowCount);
    const orders = await rows('SELECT 1 FROM orders WHERE principal = $1');
    const refunds = await rows('SELECT 1 FROM refunds r JOIN orders o ON o.id = r.order_id WHERE o.principal = $1');
    expect({ outcome, error, came, orders, refunds }).toMatchObject({ orders: refunds });
    await here.expectCleanNext(client, pool);
  });

  test('an interval, a listener, a stream and a loader that were made in it', async () => {
    const { client, pool } = only();
    const action = `${freshKey()}-behind`;
    const emitter = new EventEmitter();
    const ticks: Promise<unknown>[] = [];
    const fifth = gate();
    let isOver = false;
    const heard: Promise<unknown>[] = [];
    const loader = loaderOf((sku) => client.product.findUnique({ where: { sku } }));
    let interval: NodeJS.Timeout | undefined;
    let stream: Readable | undefined;
    async function* read() {
      for (let n = 0; n < 3; n++) yield await client.auditRecord.count({ where: { action: 'nothing' } });
    }
    const { outcome } = await execute(client, async ({ tx }) => {
      interval = setInterval(() => {
        if (isOver && ticks.push(ended(client.auditRecord.create(data(action)))) === 5) fifth.open();
      }, 1);
      here.later(() => clearInterval(interval));
      stream = Readable.from(read());
      emitter.on('global', () => heard.push(ended(client.auditRecord.count())));
      emitter.on('tx', () => heard.push(ended((async () => await tx.auditRecord.count())())));
      return (await loader('mug'))?.sku;
    });
    expect(outcome).toMatchObject({ ok: true, data: 'mug' });
    isOver = true;
    await fifth.opened;
    clearInterval(interval);
    // By itself, as without the kit.
    for (const tick of ticks) expect(await tick).toMatchObject({ action });
    // A listener runs where the event is told.
    emitter.emit('global');
    emitter.emit('tx');
    expect(await Promise.all(heard)).toMatchObject([expect.any(Number), closed]);
    expect(await stream?.toArray()).toEqual([0, 0, 0]);
    expect(await loader('mug')).toMatchObject({ sku: 'mug' });
    expectCounted(await here.written(action)).toBe(ticks.length);
    await here.expectCleanNext(client, pool);
  });

  /** A loader as many an app has one: collects what is asked in a tick. */
  function loaderOf<T>(load: (name: string) => PromiseLike<T>, soon: (run: () => void) => void = process.nextTick) {
    let batch: [string, (value: PromiseLike<T>) => void][] = [];
    return (name: string) =>
      new Promise<T>((resolve) => {
        if (batch.length === 0)
          soon(() => {
            for (const [each, answer] of batch.splice(0)) answer(load(each));
          });
        batch = [...batch, [name, resolve]];
      });
  }

  test('a loader that executions share asks in the context of the first: by itself behind its COMMIT, refused behind its rollback', async () => {
    const { client, pool } = here.another({ max: 2 });
    // Awaited by the loader itself, so that it is asked where the loader runs.
    const find = async (sku: string) => await client.product.findUnique({ where: { sku } });
    for (const first of ['commits', 'throws', 'is outside'] as const) {
      const loader = loaderOf((sku) => (first === 'is outside' ? outside(() => find(sku)) : find(sku)), setImmediate);
      const [inside, both] = [gate(), gate()];
      let left: Promise<unknown> | undefined;
      const second = execute(client, async ({ tx, key }) => {
        await effect(tx, key);
        inside.open();
        await both.opened;
        return String(await ended(loader('mug').then((found) => found?.sku)));
      });
      await inside.opened;
      await execute(client, async () => {
        left = ended(loader('mug'));
        both.open();
        if (first !== 'commits') throw new Error('rolled back');
      });
      const isRefused = first === 'throws';
      const told = isRefused ? expect.stringContaining('ExecutionClosedError') : 'mug';
      expect((await second).outcome).toMatchObject({ ok: true, data: told });
      expect(await left).toMatchObject(isRefused ? closed : { sku: 'mug' });
    }
    expect([pool.totalCount - pool.idleCount, pool.waitingCount]).toEqual([0, 0]);
  });

  test('a writer that a hook of the client has started within a query of tx goes on behind COMMIT', async () => {
    const { client, pool } = only();
    const action = `${freshKey()}-behind`;
    const ticks: (() => void)[] = [];
    let interval: NodeJS.Timeout | undefined;
    const extended = client.$extends({
      query: {
        product: {
          async $allOperations({ args, query }) {
            interval ??= setInterval(() => ticks.shift()?.(), 1);
            return await query(args);
          },
        },
      },
    }) as unknown as Client;
    const { outcome } = await execute(extended, ({ tx }) => tx.product.count());
    here.later(() => clearInterval(interval));
    expect(outcome).toMatchObject({ ok: true });
    const flushed = new Promise((told) => ticks.push(() => told(ended(client.auditRecord.create(data(action))))));
    expect(await flushed).toMatchObject({ action });
    await here.expectCleanNext(client, pool);
  });

  test('a pool and a client that were made in it serve everybody behind it', async () => {
    const { client, pool } = only();
    const made: { own?: pg.Pool; other?: Client } = {};
    const action = `${freshKey()}-late`;
    const { outcome } = await execute(client, async () => {
      made.own = new pg.Pool({ connectionString: here.url, max: 1 });
      made.other = createClient(here.url, { max: 1 });
      here.later(() => Promise.all([made.own?.end(), made.other?.$disconnect()]));
      const [{ pid }] = (await made.own.query('SELECT pg_backend_pid() AS pid')).rows;
      return [pid, await outside(() => pidOf(made.other as Client)), await pidOf(client)];
    });
    expect(new Set(outcome.ok ? (outcome.data as unknown as number[]) : []).size).toBe(3);
    const { own, other } = made as Required<typeof made>;
    await own.query(`INSERT INTO audit_records (action, tenant, principal) VALUES ($1, 't', 'p')`, [action]);
    await effect(other, action);
    await other.$transaction((tx) => effect(tx, action));
    const again = await execute(other, async ({ tx, key }) => effect(tx, key));
    expectCounted([again.outcome.ok, await here.counted(again.key)]).toEqual([true, [1, 1]]);
    expectCounted(await here.written(action)).toBe(3);
    await here.watch.query('DELETE FROM audit_records WHERE action = $1', [action]);
    await here.expectCleanNext(client, pool);
  });

  test('a callback that has waited for a connection runs in its own context, whoever gave that back', async () => {
    const { client, pool } = here.another({ max: 2 });
    const [held, asked] = [gate(), gate()];
    const action = `${freshKey()}-beside`;
    const executing = execute(client, async () => {
      const own = await outside(() => pool.connect());
      held.open();
      await asked.opened;
      own.release();
      await beside;
      throw new Error('rolled back');
    });
    await held.opened;
    // An outsider that has nothing to do with a key.
    const beside = new Promise<void>((told, failed) => {
      pool.connect((_, _connection, done) => {
        done();
        Promise.resolve(client.auditRecord.create(data(action))).then(() => told(), failed);
      });
    });
    asked.open();
    expect([(await executing).outcome.ok, await here.written(action)]).toEqual([false, 1]);
  });

  test('outside() is the way to go on: it works when the execution is over', async () => {
    const { client, pool } = only();
    const { open, opened } = gate();
    const action = freshKey();
    let later: Promise<unknown> | undefined;
    await execute(client, async () => {
      later = opened.then(() => outside(() => client.$transaction((tx) => effect(tx, action))));
    });
    open();
    await later;
    expectCounted(await here.written(action)).toBe(1);
    await here.expectCleanNext(client, pool);
  });
});
