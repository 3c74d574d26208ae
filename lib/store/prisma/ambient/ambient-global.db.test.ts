import 'next/dist/server/node-environment-baseline.js';
import { unstable_cache } from 'next/cache.js';
import { IncrementalCache } from 'next/dist/server/lib/incremental-cache/index.js';
import { describe, expect, test, vi } from 'vitest';
import { expectCounted } from '../../../../scripts/testing/expect-counted.ts';
import { effect, freshKey, gate } from '../../../integration/kit.fixture.ts';
import { outside } from '../async-context.ts';
import { execute, stage } from './ambient.fixture.ts';

/** Handlers that use the client they have imported, as they do everywhere else, and what others do with it meanwhile. */

const here = stage();
const data = (action: string) => ({ data: { action, tenant: 't', principal: 'p' } });
const product = (sku: string) => ({ data: { sku, name: sku, description: '', priceCents: 1, stock: 1 } });

/** What the console says in development. */
function hearDevelopment() {
  vi.stubEnv('NODE_ENV', 'development');
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  here.later(() => {
    warn.mockRestore();
    vi.unstubAllEnvs();
  });
  return () => warn.mock.calls.map(([line]) => String(line)).filter((line) => line.includes('global name'));
}

test('a handler without tx, which throws: each of eight tries rolls all of it back', async () => {
  const { client } = here;
  const key = freshKey();
  for (let attempt = 1; attempt <= 8; attempt++) {
    const { outcome } = await execute(
      client,
      async () => {
        await effect(client, key);
        throw new Error('as told');
      },
      { key, attempt },
    );
    expect(outcome).toMatchObject({ ok: false, executed: false });
  }
  expectCounted(await here.counted(key)).toEqual([0, 0]);
});

test('development says once of a client that it is in the transaction by its global name, and nothing of tx', async () => {
  const said = hearDevelopment();
  const { client } = here.another();
  await execute(client, ({ tx, key }) => effect(tx, key));
  expect(said()).toEqual([]);
  for (const _ of [1, 2]) await execute(client, async () => [await client.product.count(), await client.order.count()]);
  expect(said()).toEqual([expect.stringMatching(/product\.count.*part of the execution's transaction.*outside/)]);
});

test('it says so of a $transaction, too, and nothing of a client that has another pool', async () => {
  const said = hearDevelopment();
  const { client: other } = here.another();
  const { client } = here.another();
  await execute(client, async () => await other.product.count());
  expect(said()).toEqual([]);
  await execute(client, async ({ key }) => await client.$transaction((tx) => effect(tx, key)));
  expect(said()).toHaveLength(1);
});

test('what has aborted the transaction of another client is told as it is', async () => {
  const { client } = here.another();
  const { client: other } = here.another();
  const sku = freshKey();
  await other.product.create(product(sku));
  const { outcome, error } = await execute(client, async () =>
    outside(() =>
      other.$transaction(async (itx) => {
        await itx.product.create(product(sku)).catch(() => {});
        await itx.product.count();
      }),
    ),
  );
  expect([outcome, String(error)]).toMatchObject([
    { ok: false },
    expect.not.stringContaining('A statement of the handler'),
  ]);
});

test('a unique violation that is caught: the whole fails, and says why; in a $transaction it does not', async () => {
  const { client } = here;
  const sku = freshKey();
  await client.product.create(product(sku));
  const orCatch = (create: () => PromiseLike<unknown>) =>
    Promise.resolve(create()).catch((error: { code?: string }) => expect(error.code).toBe('P2002'));
  const first = await execute(client, async ({ key }) => {
    await effect(client, key);
    await orCatch(() => client.product.create(product(sku)));
    return (await client.product.findUnique({ where: { sku } }))?.sku;
  });
  expect([first.outcome, first.error]).toMatchObject([
    { ok: false, executed: false },
    { message: expect.stringMatching(/its error was caught; PostgreSQL has aborted .*Look before you write/) },
  ]);
  expectCounted(await here.counted(first.key)).toEqual([0, 0]);
  const second = await execute(client, async ({ key }) => {
    await effect(client, key);
    await orCatch(() => client.$transaction((tx) => tx.product.create(product(sku))));
    return (await client.product.findUnique({ where: { sku } }))?.sku;
  });
  expect(second.outcome).toMatchObject({ ok: true, data: sku });
  expectCounted(await here.counted(second.key)).toEqual([1, 1]);
});

test('fire and forget: a query that is under way when the handler returns fails it, and outside() leaves it alone', async () => {
  const { client } = here.another();
  const { watch } = here;
  await here.trigger(
    'TRIGGER fault BEFORE INSERT ON audit_records',
    'PERFORM pg_advisory_xact_lock(4713); RETURN NEW;',
  );
  for (const isOutside of [false, true]) {
    await watch.query('SELECT pg_advisory_lock(4713)');
    const action = `${freshKey()}-log`;
    const log = () => Promise.resolve(client.auditRecord.create(data(action))).catch((error) => error);
    const returns = gate();
    let logged: Promise<unknown> | undefined;
    const executing = execute(client, async () => {
      logged = isOutside ? outside(log) : log();
      await watch.untilWaiting(1);
      returns.open();
      return 'there';
    });
    await returns.opened;
    // The log is written while the execution is over: its own row is no audit record.
    if (isOutside) expect((await executing).outcome).toMatchObject({ ok: true });
    await watch.query('SELECT pg_advisory_unlock(4713)');
    const { outcome, error } = await executing;
    await logged;
    if (!isOutside)
      expect([outcome.ok, error?.message]).toEqual([false, expect.stringMatching(/still running .* Await it/)]);
    expectCounted(await here.written(action)).toBe(isOutside ? 1 : 0);
  }
});

test('a session store or a job queue on the same pool: its BEGIN is refused, and goes through outside', async () => {
  const { client, pool } = here.another({ max: 2 });
  const action = `${freshKey()}-job`;
  /** As such libraries do it. */
  const enqueue = async () => {
    const own = await pool.connect();
    try {
      await own.query('BEGIN');
      await own.query(`INSERT INTO audit_records (action, tenant, principal) VALUES ($1, 't', 'p')`, [action]);
      await own.query('COMMIT');
    } finally {
      own.release();
    }
  };
  const refused = await execute(client, enqueue);
  expect([refused.outcome, refused.error]).toMatchObject([
    { ok: false, executed: false },
    { message: expect.stringMatching(/begun within an execution.*outside\(\)/) },
  ]);
  expectCounted(await here.written(action)).toBe(0);
  expect((await execute(client, () => outside(enqueue))).outcome).toMatchObject({ ok: true });
  expectCounted(await here.written(action)).toBe(1);
});

describe('what other requests share', () => {
  /** Collects rows of everybody, and writes them once its timer is due: of whoever came first. */
  function writerOf(insert: (rows: string[]) => PromiseLike<unknown>) {
    let rows: string[] = [];
    let flushing: Promise<unknown> | undefined;
    return (row: string) => {
      rows.push(row);
      flushing ??= new Promise((next) => setImmediate(next)).then(() => {
        flushing = undefined;
        const collected = rows;
        rows = [];
        return insert(collected);
      });
      return flushing;
    };
  }

  test.each([false, true])(
    'a writer flushes in the transaction of whoever came first, or outside (%s)',
    async (isOutside) => {
      const said = hearDevelopment();
      const { client } = here.another();
      const action = `${freshKey()}-batch`;
      const insert = (rows: string[]) => client.auditRecord.createMany({ data: rows.map((row) => data(row).data) });
      const write = writerOf((rows) => (isOutside ? outside(() => insert(rows)) : insert(rows)));
      const first = await execute(client, async () => {
        const own = write(action);
        await Promise.all([own, outside(() => write(action))]);
        throw new Error('rolled back');
      });
      expect(first.outcome).toMatchObject({ ok: false, executed: false });
      // The second one's row went with the first one's.
      expectCounted(await here.written(action)).toBe(isOutside ? 2 : 0);
      expect(said()).toHaveLength(isOutside ? 0 : 1);
    },
  );

  test('unstable_cache keeps what the handler that fills it sees, and outside what is committed', async () => {
    const said = hearDevelopment();
    const shared = globalThis as { __incrementalCache?: IncrementalCache };
    const kept = new Map<string, unknown>();
    shared.__incrementalCache = new IncrementalCache({
      previewProps: { previewModeId: 'none' },
      requestHeaders: {},
      CurCacheHandler: class {
        get = async (name: string) => kept.get(name);
        set = async (name: string, value: unknown) => void kept.set(name, { value, lastModified: Date.now() });
      },
    } as never);
    here.later(() => delete shared.__incrementalCache);
    const { client } = here.another();
    for (const isOutside of [false, true]) {
      const sku = freshKey();
      const count = () => client.product.count({ where: { sku } });
      const cached = unstable_cache(async () => await (isOutside ? outside(count) : count()), [sku]);
      await execute(client, async () => {
        await client.product.create(product(sku));
        await cached();
        throw new Error('rolled back');
      });
      expect([await cached(), await count()]).toEqual([isOutside ? 0 : 1, 0]);
    }
    expect(said()).toHaveLength(1);
  });
});
