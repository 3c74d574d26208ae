import pg from 'pg';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { expectCounted } from '../../../scripts/testing/expect-counted.ts';
import { type Client, createClient } from '../../../shop/db.ts';
import { anything, effect, freshKey, kit } from '../../integration/kit.fixture.ts';
import { execute, stage } from './ambient/ambient.fixture.ts';

/** Whether an execution has the kit's transaction or Prisma's, where no option says. */

const here = stage();
const warned = vi.spyOn(console, 'warn');
beforeEach(() => {
  vi.stubEnv('NODE_ENV', 'development');
  warned.mockReset().mockImplementation(() => {});
});
afterEach(() => vi.unstubAllEnvs());

/** Tells whether executions on this client are in Prisma's transactions, which say BEGIN and no more. */
async function isInteractive(client: Client, heard: string[]): Promise<boolean> {
  const operation = kit(client, { transaction: undefined as never })
    .operation({ name: 'checkout', schema: anything })
    .handler(async ({ tx, key }) => {
      await effect(tx, key);
    });
  for (let n = 0; n < 2; n++) {
    heard.length = 0;
    const key = freshKey();
    expect(await operation.execute({ key, payload: {} })).toMatchObject({ ok: true, replayed: false });
    expectCounted(await here.counted(key)).toEqual([1, 1]);
  }
  return heard.includes('BEGIN');
}

/** A client, and the texts of the statements that are sent on its connections by anybody but the kit. */
function listening(plain = false) {
  const heard: string[] = [];
  const pool = new pg.Pool({ connectionString: here.url, max: 2 });
  pool.on('connect', (connection) => {
    const query = connection.query.bind(connection) as (config: { text?: string }, ...rest: unknown[]) => unknown;
    connection.query = ((config: { text?: string }, ...rest: unknown[]) => {
      if (config.text) heard.push(config.text);
      return query(config, ...rest);
    }) as typeof connection.query;
  });
  if (plain) vi.stubEnv('POOL', 'plain');
  const client = createClient(here.url, { pool });
  here.later(() => client.$disconnect());
  return { client, heard };
}

const like = (client: Client, more: Record<string, unknown>) =>
  new Proxy(client, {
    get: (target, name) => (name in more ? more[name as string] : Reflect.get(target, name)),
    has: (target, name) => name in more || name in target,
  });

test('on a wrapped pool: the kit’s own, and nobody is told', async () => {
  const { client, heard } = listening();
  expect([await isInteractive(client, heard), warned.mock.calls]).toEqual([false, []]);
});

test.each<[string, RegExp, (client: Client) => Client]>([
  ['a pool as Prisma makes it', /pool that the kit has wrapped/, (client) => client],
  [
    'a $transaction of its own',
    /\$transaction of its own/,
    (client) =>
      like(client, {
        $transaction: (...args: never[]) => (client.$transaction as (...args: never[]) => unknown)(...args),
      }),
  ],
  ['read replicas', /read-replica extension/, (client) => like(client, { $replica: () => client })],
  [
    'another version of Prisma, by its insides',
    /does not know this client/,
    (client) => like(client, { _originalClient: { $transaction: () => {} } }),
  ],
])('%s: Prisma’s, which is said once, with what to do', async (name, words, change) => {
  const { client, heard } = listening(name.startsWith('a pool'));
  const changed = change(client);
  expect(await isInteractive(changed, heard)).toBe(true);
  expect(await isInteractive(changed, heard)).toBe(true);
  expect(warned.mock.calls).toEqual([[expect.stringMatching(words)]]);
});

test('in production and in tests nobody is told', async () => {
  for (const environment of ['production', 'test']) {
    const { client, heard } = listening(true);
    vi.stubEnv('NODE_ENV', environment);
    const secret = ['Vq3-Jt0Lr8_Yd2Wc6Hn1Pz9Xs4Bk7Fe5'];
    const operation = kit(client, { secret, transaction: undefined as never }).operation({
      name: 'checkout',
      schema: anything,
    });
    expect(await operation.handler(async () => 1).execute({ key: freshKey(), payload: {} })).toMatchObject({
      ok: true,
    });
    expect([heard.includes('BEGIN'), warned.mock.calls]).toEqual([true, []]);
    vi.stubEnv('NODE_ENV', 'development');
  }
});

test('a table that is locked while it is looked at for the first time: refused in time, and not asked on that connection again', async () => {
  const { client, pool } = here.another({ max: 1 });
  await here.watch.query('BEGIN');
  await here.watch.query('LOCK TABLE idempotency_keys');
  const impatient = { timeoutMs: 100, maxWaitMs: 100 };
  const { key, outcome } = await execute(client, ({ tx, key }) => effect(tx, key), impatient);
  expect(outcome).toMatchObject({ code: 'unavailable', retry: 'same-key' });
  await vi.waitFor(() => expect(pool.totalCount - pool.idleCount).toBe(0));
  await here.watch.query('ROLLBACK');
  const again = await execute(client, ({ tx, key }) => effect(tx, key), { key, attempt: 2 });
  expectCounted([again.outcome, await here.counted(key)]).toMatchObject([{ ok: true, replayed: false }, [1, 1]]);
});

test('two clients on one pool: an execution of the one, and what its handler asks of the other', async () => {
  const { client, pool } = here.another({ max: 4 });
  const other = createClient(here.url, { pool }); // the first one's end is the pool's
  for (const [own, asked] of [
    [client, other],
    [other, client],
  ] as const) {
    const operation = kit(own)
      .operation({ name: 'checkout', schema: anything })
      .handler(async ({ tx, key, input }) => {
        await effect(tx, key);
        const seen = await asked.auditRecord.count({ where: { action: key } });
        if (input.fails) throw new Error('rolled back');
        return seen;
      });
    const [key, failed] = [freshKey(), freshKey()];
    const told = await Promise.all([
      operation.execute({ key, payload: {} }),
      operation.execute({ key: failed, payload: { fails: true } }),
    ]);
    // Whatever a handler asks of the pool is in its transaction.
    expect(told).toMatchObject([
      { ok: true, data: 1 },
      { ok: false, executed: false },
    ]);
    expectCounted([await here.counted(key), await here.counted(failed)]).toEqual([
      [1, 1],
      [0, 0],
    ]);
  }
});
