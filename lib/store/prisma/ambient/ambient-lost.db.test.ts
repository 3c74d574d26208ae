import type pg from 'pg';
import { describe, expect, test, vi } from 'vitest';
import { expectCounted } from '../../../../scripts/testing/expect-counted.ts';
import { createClient } from '../../../../shop/db.ts';
import { effect, freshKey, gate } from '../../../integration/kit.fixture.ts';
import { skipTime } from '../../../integration/skip-time.fixture.ts';
import { AT_COMMIT, type Context, execute, impatientPool, pidOf, stage } from './ambient.fixture.ts';

/** Connections that die or say nothing any more under an ambient transaction: what is told is true, and the retry makes it one. */

const here = stage();
const { expectAnother, trigger } = here;
const only = () => here.another({ max: 1 });
const terminate = (pid: number) => here.watch.query('SELECT pg_terminate_backend($1, 5000)', [pid]);

/** The pool lets go of what is broken, and holds nothing else. */
const expectNothingHeld = (pool: pg.Pool) =>
  vi.waitFor(() => expect([pool.totalCount - pool.idleCount, pool.waitingCount]).toEqual([0, 0]));

describe('a connection that the server ends', () => {
  const lost = { code: 'unavailable', executed: false, retry: 'same-key' };

  test.each<[string, (context: Context, pid: number) => Promise<unknown>]>([
    [
      'while the handler is idle, and it asks on and swallows what it is told',
      async ({ tx }, pid) => {
        await terminate(pid);
        await tx.product.count().catch(() => {});
        throw new Error('as if of its own');
      },
    ],
    [
      'in a query',
      async ({ tx }, pid) => {
        const asking = tx.$queryRaw`SELECT pg_sleep(60)::text`.then(() => 'slept');
        void terminate(pid);
        await asking;
      },
    ],
    [
      'in a savepoint',
      ({ tx }, pid) =>
        tx.$transaction(async (inner) => {
          await terminate(pid);
          await inner.product.count();
        }),
    ],
    [
      'in one of several queries at once',
      async ({ tx }, pid) => {
        const asking = Promise.all([tx.$queryRaw`SELECT pg_sleep(60)::text`, tx.product.count(), tx.cart.count()]);
        void terminate(pid);
        await asking;
      },
    ],
  ])('%s: nothing is committed', async (name, handle) => {
    const { client, pool } = only();
    const { key, outcome } = await execute(client, async (context) => {
      await effect(context.tx, context.key);
      await handle(context, await pidOf(context.tx));
    });
    expect(outcome).toMatchObject(name.includes('swallows') ? { ok: false, executed: false } : lost);
    await expectNothingHeld(pool);
    await expectAnother(client, key);
  });

  test('while it is idle in the pool: the next execution says so at the worst, and the one behind it goes through', async () => {
    const { client, pool } = only();
    await execute(client, ({ tx, key }) => effect(tx, key));
    await terminate(await pidOf(client));
    const { key, outcome } = await execute(client, ({ tx, key }) => effect(tx, key));
    if (!outcome.ok) expect(outcome).toMatchObject(lost);
    expectCounted(await here.counted(key)).toEqual(outcome.ok ? [1, 1] : [0, 0]);
    expect((await execute(client, ({ tx, key }) => effect(tx, key))).outcome).toMatchObject({ ok: true });
    await expectNothingHeld(pool);
  });
});

test('a COMMIT that is not answered: nobody knows, the connection is given up, and the retry finds out', async () => {
  const { client, pool } = only();
  const lift = await trigger(AT_COMMIT, 'PERFORM pg_advisory_xact_lock(4714); RETURN NULL;');
  await here.watch.query('SELECT pg_advisory_lock(4714)');
  const executing = execute(client, ({ tx, key }) => effect(tx, key), { timeoutMs: 20_000 });
  await here.watch.untilWaiting(1);
  skipTime(30_000);
  const { key, outcome } = await executing;
  expect(outcome).toMatchObject({ code: 'unavailable', executed: 'unknown', retry: 'same-key' });
  await expectNothingHeld(pool);
  await here.watch.query('SELECT pg_advisory_unlock(4714)');
  await here.watch.untilIdle();
  await lift();
  const again = await execute(client, ({ tx, key }) => effect(tx, key), { key, attempt: 2 });
  expectCounted([again.outcome, await here.counted(key)]).toMatchObject([{ ok: true }, [1, 1]]);
});

describe('a pool that gives up by itself (query_timeout)', () => {
  const impatient = () => {
    const { pool, hurry } = impatientPool(here.url);
    const client = createClient(here.url, { pool });
    here.later(() => client.$disconnect());
    return { client, hurry };
  };

  test('in the handler: nothing is committed, and nothing gets onto its connection any more', async () => {
    const { client, hurry } = impatient();
    const { key, outcome } = await execute(client, async ({ tx, key }) => {
      await effect(tx, key);
      hurry();
      await tx.$queryRaw`SELECT pg_sleep(1)::text`;
    });
    expect(outcome).toMatchObject({ ok: false, executed: false });
    await here.watch.untilIdle();
    await expectAnother(client, key);
  });

  test('in a savepoint whose error is caught: nothing is committed, for its ROLLBACK TO may never have been sent', async () => {
    const { client, hurry } = impatient();
    const { key, outcome, error } = await execute(client, async ({ tx, key }) => {
      const nested = tx.$transaction(async (inner) => {
        await effect(inner, key);
        hurry();
        await inner.$queryRaw`SELECT pg_sleep(0.75)::text`;
      });
      await nested.catch(() => {});
    });
    expect([outcome, error]).toMatchObject([{ ok: false }, { message: expect.stringContaining('got no answer') }]);
    await here.watch.untilIdle();
    await expectAnother(client, key);
  });

  test('while the claim waits for another’s: it claims nothing later', async () => {
    const [inside, end] = [gate(), gate()];
    const key = freshKey();
    const held = execute(
      only().client,
      async ({ tx, key }) => {
        await effect(tx, key);
        inside.open();
        await end.opened;
        throw new Error('rolled back');
      },
      { key },
    );
    await inside.opened;
    const { client, hurry } = impatient();
    await execute(client, ({ tx, key }) => effect(tx, key));
    hurry();
    const { outcome } = await execute(client, ({ tx, key }) => effect(tx, key), { key });
    expect(outcome).toMatchObject({ code: 'unavailable', executed: 'unknown' });
    end.open();
    await held;
    await here.watch.untilIdle();
    await expectAnother(client, key);
  });

  test('while the server commits: nobody knows, and the retry finds out', async () => {
    const lift = await trigger(AT_COMMIT, 'PERFORM pg_advisory_xact_lock(4712); RETURN NULL;');
    await here.watch.query('SELECT pg_advisory_lock(4712)');
    const { client, hurry } = impatient();
    const { key, outcome } = await execute(client, ({ tx, key }) => effect(tx, key).then(hurry));
    expect(outcome).toMatchObject({ code: 'unavailable', executed: 'unknown', retry: 'same-key' });
    await here.watch.query('SELECT pg_advisory_unlock(4712)');
    await here.watch.untilIdle();
    await lift();
    const again = await execute(client, ({ tx, key }) => effect(tx, key), { key, attempt: 2 });
    expectCounted([again.outcome, await here.counted(key)]).toMatchObject([{ ok: true }, [1, 1]]);
  });
});
