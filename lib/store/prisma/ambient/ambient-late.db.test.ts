import type pg from 'pg';
import { describe, expect, test, vi } from 'vitest';
import { expectCounted } from '../../../../scripts/testing/expect-counted.ts';
import type { Client } from '../../../../shop/db.ts';
import { anything, effect, freshKey, gate, kit } from '../../../integration/kit.fixture.ts';
import { AT_COMMIT, ended, execute, orderWithRefund, stage } from './ambient.fixture.ts';

/**
 * What is asked in the context of an execution that has ended. `tx` is refused, whatever the end was. The client by its global name
 * goes by itself behind COMMIT; behind a rollback it is refused, for the next attempt would do it again. The pool has one
 * connection, so that whatever got onto it would be seen by the execution behind it.
 */

const here = stage();
const only = () => here.another({ max: 1 });
const closed = { name: 'ExecutionClosedError' };
const data = (action: string) => ({ data: { action, tenant: 't', principal: 'p' } });
const INSERT = `INSERT INTO audit_records (action, tenant, principal) VALUES ($1, 't', 'p')`;

type Ask = (db: Client, action: string) => Promise<unknown>;

/** Each writes a row of its action, or none. */
const WAYS: Ask[] = [
  (db, action) => db.auditRecord.create(data(action)),
  (db) => db.product.findUnique({ where: { sku: 'mug' } }),
  (db) => db.$queryRaw`SELECT 1 AS n`,
  (db, action) => db.$executeRawUnsafe(INSERT, action),
  (db, action) => db.order.create({ data: orderWithRefund(action) }),
  (db, action) => db.$transaction((inner) => effect(inner, action)),
  (db, action) => db.$transaction([db.auditRecord.create(data(action))]),
];
const ROWS = 4;

const OF_POOL: ((pool: pg.Pool, action: string) => Promise<unknown>)[] = [
  (pool, action) => pool.query(INSERT, [action]),
  (pool, action) =>
    new Promise((told, no) => pool.query(INSERT, [action], (error, result) => (error ? no(error) : told(result)))),
  (pool) => pool.connect().then((client) => client.release()),
  (pool) => new Promise((told, no) => pool.connect((error, _, done) => (error ? no(error) : told(done())))),
];
const POOL_ROWS = 2;

/** Everything of everybody. */
const all = (client: Client, pool: pg.Pool, action: string) =>
  Promise.all([...WAYS.map((ask) => ended(ask(client, action))), ...OF_POOL.map((ask) => ended(ask(pool, action)))]);

const isRefused = (answer: unknown) => (answer as Error | null)?.name === closed.name;

describe.each([
  ['has committed', false],
  ['was rolled back', true],
] as const)('asked behind an execution that %s', (_, isRolledBack) => {
  const leaveBehind = async (ask: (tx: Client, client: Client, pool: pg.Pool, action: string) => Promise<unknown>) => {
    const { client, pool } = only();
    const { open, opened } = gate();
    const action = `${freshKey()}-behind`;
    const late: Promise<unknown>[] = [];
    const { key, outcome } = await execute(client, async ({ tx, key }) => {
      await effect(tx, key);
      late.push(opened.then(() => ask(tx, client, pool, action)));
      if (isRolledBack) throw new Error('rolled back');
    });
    expectCounted([outcome.ok, await here.counted(key)]).toEqual(isRolledBack ? [false, [0, 0]] : [true, [1, 1]]);
    open();
    const [answers] = (await Promise.all(late)) as [unknown[]];
    await here.expectCleanNext(client, pool);
    return { answers, written: await here.written(action) };
  };

  test('tx does nothing, and says so', async () => {
    const { answers, written } = await leaveBehind((tx, _, __, action) =>
      Promise.all(WAYS.map((ask) => ended((async () => await ask(tx, action))()))),
    );
    expect(answers).toMatchObject(WAYS.map(() => closed));
    expectCounted(written).toBe(0);
  });

  test('the client by its global name, and its pool', async () => {
    const { answers, written } = await leaveBehind((_, client, pool, action) => all(client, pool, action));
    expect(answers.map(isRefused)).toEqual(answers.map(() => isRolledBack));
    expectCounted(written).toBe(isRolledBack ? 0 : ROWS + POOL_ROWS);
  });
});

test('what comes behind a query of tx, by then, catch or finally, is the client’s own, and not of tx', async () => {
  const { client, pool } = only();
  const { open, opened } = gate();
  const action = `${freshKey()}-behind`;
  const told: Promise<unknown>[] = [];
  const behind = () => opened.then(() => ended(client.auditRecord.create(data(action))));
  const { outcome } = await execute(client, async ({ tx }) => {
    const count = () => tx.auditRecord.count();
    const started = [
      count().then(() => void told.push(behind())),
      count().finally(() => void told.push(behind())),
      tx.$transaction(() => Promise.reject(new Error('this one alone'))).catch(() => void told.push(behind())),
    ];
    await Promise.all(started);
  });
  expect(outcome).toMatchObject({ ok: true });
  open();
  expect(await Promise.all(told)).toMatchObject([{ action }, { action }, { action }]);
  await here.expectCleanNext(client, pool);
});

describe('asked while COMMIT is under way', () => {
  test.each([
    ['is committed', false],
    ['fails', true],
  ] as const)('waits, and goes as is due where it %s; tx does not wait', async (_, fails) => {
    const { client, pool } = here.another({ max: 2 });
    const { watch } = here;
    const action = `${freshKey()}-behind`;
    await here.trigger(
      AT_COMMIT,
      `IF NEW.action NOT LIKE '%behind' THEN PERFORM pg_advisory_xact_lock(4711);
         IF ${fails} THEN RAISE EXCEPTION 'fault'; END IF; END IF; RETURN NULL;`,
    );
    await watch.query('SELECT pg_advisory_lock(4711)');
    const { open, opened } = gate();
    const told: Record<string, Promise<unknown>> = {};
    const executing = execute(client, async ({ tx, key }) => {
      await effect(tx, key);
      told.tx = opened.then(() => ended((async () => await tx.auditRecord.create(data(action)))()));
      told.client = opened.then(() => all(client, pool, action));
      told.execution = opened.then(() => execute(client, ({ tx }) => effect(tx, `${key}-behind`)));
    });
    await watch.untilWaiting(1);
    open();
    expect(await told.tx).toMatchObject(closed);
    expectCounted(await here.written(action)).toBe(0);
    await watch.query('SELECT pg_advisory_unlock(4711)');
    expect((await executing).outcome.ok).toBe(!fails);
    const answers = (await told.client) as unknown[];
    expect(answers.map(isRefused)).toEqual(answers.map(() => fails));
    expectCounted(await here.written(action)).toBe(fails ? 0 : ROWS + POOL_ROWS);
    expect(await told.execution).toMatchObject({ outcome: { ok: !fails } });
  });

  test('behind an end that is not known it is refused, as behind a rollback', async () => {
    const { client, pool } = here.another({ max: 2 });
    const action = `${freshKey()}-behind`;
    await here.trigger(AT_COMMIT, 'PERFORM pg_advisory_xact_lock(4712); RETURN NULL;');
    await here.watch.query('SELECT pg_advisory_lock(4712)');
    const { open, opened } = gate();
    let told: Promise<unknown[]> | undefined;
    const executing = execute(client, async ({ tx, key }) => {
      await effect(tx, key);
      told = opened.then(() => all(client, pool, action));
    });
    await here.watch.untilWaiting(1);
    await here.watch.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    const { outcome } = await executing;
    await here.watch.query('SELECT pg_advisory_unlock(4712)');
    expect(outcome).toMatchObject({ ok: false });
    open();
    expect((await told)?.every(isRefused)).toBe(true);
    expectCounted(await here.written(action)).toBe(0);
  });
});

test('a savepoint that was rolled back leaves nothing behind that goes through, though the whole is committed', async () => {
  const { client, pool } = only();
  const { open, opened } = gate();
  const action = `${freshKey()}-behind`;
  const told: Promise<unknown[]>[] = [];
  const leave = () => void told.push(opened.then(() => all(client, pool, action)));
  const { outcome } = await execute(client, async ({ tx }) => {
    const undone = tx.$transaction(async () => {
      leave();
      throw new Error('this one alone');
    });
    await ended(undone);
    await tx.$transaction(async () => leave());
  });
  expect(outcome).toMatchObject({ ok: true });
  open();
  const [undone, kept] = await Promise.all(told);
  expect([undone?.every(isRefused), kept?.some(isRefused)]).toEqual([true, false]);
});

test.each([false, true])(
  'what a $transaction that is released has left behind is of the handler: rolled back with it: %s',
  async (fails) => {
    const { client } = only();
    const action = `${freshKey()}-behind`;
    const { key, outcome, error } = await execute(client, async () => {
      const { open, opened } = gate();
      let left: Promise<unknown> | undefined;
      await client.$transaction(async () => {
        left = opened.then(() => client.auditRecord.create(data(action)));
      });
      open();
      await left;
      if (fails) throw new Error('as told');
    });
    expect([outcome.ok, error?.message]).toEqual([!fails, fails ? 'as told' : undefined]);
    expectCounted([await here.written(action), (await here.counted(key))[1]]).toEqual(fails ? [0, 0] : [1, 1]);
  },
);

test('an execution that is left behind waits for COMMIT no longer than for a connection', async () => {
  const { client } = here.another({ max: 2 });
  await here.trigger(AT_COMMIT, 'PERFORM pg_advisory_xact_lock(4714); RETURN NULL;');
  await here.watch.query('SELECT pg_advisory_lock(4714)');
  const { open, opened } = gate();
  const left: ReturnType<typeof execute>[] = [];
  const executing = execute(client, async ({ tx, key }) => {
    await effect(tx, key);
    left.push(opened.then(() => execute(client, ({ tx }) => tx.product.count(), { maxWaitMs: 50 })));
  });
  await here.watch.untilWaiting(1);
  open();
  expect((await left[0])?.outcome).toMatchObject({ ok: false, code: 'unavailable' });
  await here.watch.query('SELECT pg_advisory_unlock(4714)');
  expect((await executing).outcome).toMatchObject({ ok: true });
});

describe('what lives as long as the process, and was first started in a handler', () => {
  const MINUTE = 60_000;

  /** Passes time for those who look at it; timers go on as they are. */
  function passing() {
    const now = performance.now.bind(performance);
    let passed = 0;
    const spy = vi.spyOn(performance, 'now').mockImplementation(() => now() + passed);
    here.later(() => spy.mockRestore());
    return (ms: number) => {
      passed += ms;
    };
  }

  test('goes on though that was rolled back, once no request can live that long', async () => {
    const { client, pool } = only();
    const pass = passing();
    const action = `${freshKey()}-behind`;
    let flush: () => Promise<unknown> = async () => {};
    const { outcome } = await execute(client, async () => {
      const ticks: (() => void)[] = [];
      const interval = setInterval(() => ticks.shift()?.(), 1);
      here.later(() => clearInterval(interval));
      flush = () => new Promise((told) => ticks.push(() => told(ended(client.auditRecord.create(data(action))))));
      throw new Error('rolled back');
    });
    expect(outcome).toMatchObject({ ok: false, executed: false });
    expect(await flush()).toMatchObject(closed);
    pass(4 * MINUTE);
    expect(await flush()).toMatchObject(closed);
    pass(2 * MINUTE);
    expect(await flush()).toMatchObject({ action });
    expectCounted(await here.written(action)).toBe(1);
    await here.expectCleanNext(client, pool);
  });

  test('a handler that is still running is never taken for that', async () => {
    const { client } = only();
    const pass = passing();
    const action = `${freshKey()}-behind`;
    const { open, opened } = gate();
    let left: Promise<unknown> | undefined;
    const { outcome } = await execute(
      client,
      async () => {
        left = opened.then(() => ended(client.auditRecord.create(data(action))));
        await left;
      },
      { timeoutMs: 50 },
    );
    expect(outcome).toMatchObject({ ok: false });
    pass(60 * MINUTE);
    open();
    expect(await left).toMatchObject(closed);
    expectCounted(await here.written(action)).toBe(0);
  });

  test('executes operations of its own, behind COMMIT and behind the time', async () => {
    const { client } = only();
    const pass = passing();
    const operation = kit(client)
      .operation({ name: 'behind', schema: anything })
      .handler(({ tx, key }) => effect(tx, key));
    for (const isRolledBack of [false, true]) {
      const { open, opened } = gate();
      const key = freshKey();
      const ask = () => operation.execute({ key, payload: {} });
      const told: Promise<unknown>[] = [];
      await execute(client, async () => {
        told.push(opened.then(ask).then(async (first) => [first, pass(6 * MINUTE), await ask()]));
        if (isRolledBack) throw new Error('rolled back');
      });
      open();
      expect(await told[0]).toMatchObject([{ ok: !isRolledBack }, undefined, { ok: true }]);
      expectCounted(await here.counted(key)).toEqual([1, 1]);
    }
  });
});
