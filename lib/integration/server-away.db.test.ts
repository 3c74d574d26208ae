import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { migrate } from '../../scripts/services/migrate.ts';
import { type PgBouncer, startPgBouncer } from '../../scripts/services/pgbouncer.ts';
import { type ScratchPostgres, scratchPostgres } from '../../scripts/services/postgres-scratch.ts';
import { expectCounted } from '../../scripts/testing/expect-counted.ts';
import { until } from '../../scripts/testing/until.ts';
import { type Client, createClient } from '../../shop/db.ts';
import { anything, effect, effects, freshKey, kit, rowsOf, type Tx } from './kit.fixture.ts';

/** A server, or a pooler before it, that says that it cannot be asked: who asks hears `unavailable`, and never `internal`. */

const MOST = 12;
const SETTINGS = [`max_connections=${MOST}`, 'superuser_reserved_connections=0', 'max_wal_senders=0'];

let server: ScratchPostgres;
let sql: pg.Client;
const closers: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  server = await scratchPostgres(SETTINGS);
  await migrate(server.url);
  sql = await connect();
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
afterAll(async () => {
  await sql?.end().catch(() => {});
  await server?.close();
});

async function connect(url = server.url): Promise<pg.Client> {
  const one = new pg.Client({ connectionString: url });
  one.on('error', () => {}); // of a server that is stopped
  await one.connect();
  return one;
}

function clientOf(url: string, max = 2): Client {
  const client = createClient(url, { max });
  closers.push(() => client.$disconnect());
  return client;
}

const withSetting = (setting: string, url = server.url) => {
  const address = new URL(url);
  address.searchParams.set('options', `-c ${setting}`);
  return address.href;
};

const AWAY = { ok: false, code: 'unavailable', retry: 'same-key', retryAfterMs: 1000 };

/** An operation, and what was reported of it. */
function op(client: Client, handle: (tx: Tx) => Promise<unknown> = async () => {}) {
  const during: string[] = [];
  const words: string[] = [];
  const onError = (error: unknown, context: { during: string }) => {
    during.push(context.during);
    words.push(String((error as Error).message));
  };
  const operation = kit(client, { waitMs: 0, onError })
    .operation({ name: 'checkout', schema: anything, maxWaitMs: 1500, timeoutMs: 3000 })
    .handler(async ({ tx, key }) => {
      await effect(tx, key);
      await handle(tx);
      return 'done';
    });
  return { ...operation, during, words };
}

/** Nothing can be asked: neither a claim nor a look, whoever wants to know. */
async function expectAway(operation: ReturnType<typeof op>) {
  const key = freshKey();
  expect(await operation.execute({ key, payload: {}, attempt: 1 })).toMatchObject({ ...AWAY, executed: false });
  expect(await operation.execute({ key, payload: {}, attempt: 2 })).toMatchObject({ ...AWAY, executed: 'unknown' });
  expect(await operation.status({ key })).toMatchObject({ ...AWAY, executed: 'unknown' });
  expect(await operation.fence({ key })).toMatchObject({ ...AWAY, executed: 'unknown' });
  expect(new Set(operation.during)).toEqual(new Set(['database']));
  return key;
}

/** It executes once the server answers again, on the same client. */
async function expectBack(operation: ReturnType<typeof op>, key: string) {
  await expect
    .poll(() => operation.execute({ key, payload: {}, attempt: 3 }), { timeout: 20_000, interval: 100 })
    .toMatchObject({ ok: true });
  const direct = clientOf(server.url);
  expectCounted([await effects(direct, key), (await rowsOf(direct, key)).length]).toEqual([1, 1]);
}

describe('a server process that ends in the middle of an execution', () => {
  const pidOf = async (tx: Tx) =>
    (await tx.$queryRawUnsafe<[{ pid: number }]>('SELECT pg_backend_pid() AS pid'))[0].pid;
  const kill = async (pid: number) => {
    await sql.query('SELECT pg_terminate_backend($1, 5000)', [pid]);
  };

  test('57P01 a person ends it, while the handler asks and between two of its queries', async () => {
    for (const handle of [
      async (tx: Tx) => {
        const pid = await pidOf(tx);
        await Promise.all([tx.$queryRawUnsafe('SELECT pg_sleep(20)::text'), kill(pid)]);
      },
      async (tx: Tx) => {
        await kill(await pidOf(tx));
        await tx.product.count();
      },
    ]) {
      const client = clientOf(server.url);
      const { execute, during } = op(client, handle);
      const key = freshKey();
      expect(await execute({ key, payload: {} })).toMatchObject({ ...AWAY, executed: false });
      expect(during).toEqual(['database']);
      await expectBack(op(client), key);
    }
  });

  test.each([
    ['25P03 idle in its transaction', `SET LOCAL idle_in_transaction_session_timeout = '50ms'`],
    ['25P04 its transaction too long', `SET LOCAL transaction_timeout = '50ms'`],
  ])('%s', async (_, setting) => {
    const client = clientOf(server.url);
    const { execute, during } = op(client, async (tx) => {
      const pid = await pidOf(tx);
      await tx.$executeRawUnsafe(setting);
      await until(
        'the server has ended its session',
        async () => (await sql.query('SELECT FROM pg_stat_activity WHERE pid = $1', [pid])).rowCount === 0,
      );
      await tx.product.count();
    });
    const key = freshKey();
    expect(await execute({ key, payload: {} })).toMatchObject({ ...AWAY, executed: false });
    expect(during).toEqual(['database']);
    await expectBack(op(client), key);
  });

  test('57P05 the session was idle for too long: what comes next has another', async () => {
    const client = clientOf(withSetting('idle_session_timeout=500'), 1);
    const operation = op(client);
    expect(await operation.execute({ key: freshKey(), payload: {} })).toMatchObject({ ok: true });
    await until(
      'its session has ended',
      async () =>
        (await sql.query(`SELECT FROM pg_stat_activity WHERE backend_type = 'client backend'`)).rowCount === 1,
    );
    const key = freshKey();
    const told = await operation.execute({ key, payload: {} });
    if (!told.ok) expect(told).toMatchObject(AWAY);
    await expectBack(operation, key);
    expect(operation.during.filter((at) => at !== 'database')).toEqual([]);
  });
});

describe('a server that lets nobody in', () => {
  test('53300 too many connections', async () => {
    const hogs: pg.Client[] = [];
    closers.push(() => Promise.all(hogs.map((hog) => hog.end())));
    for (let n = 1; n < MOST; n++) hogs.push(await connect());
    const operation = op(clientOf(server.url));
    const key = await expectAway(operation);
    expect(operation.words.join()).toContain('too many clients');
    await Promise.all(hogs.splice(0).map((hog) => hog.end()));
    await expectBack(operation, key);
  });

  test.each<[string, Partial<URL>, string]>([
    ['28P01 a password that has been changed', { password: 'old' }, 'password'],
    ['3D000 a database that is gone', { pathname: '/gone' }, 'does not exist'],
    ['a name that leads nowhere', { hostname: 'nowhere.invalid' }, 'nowhere.invalid'],
    ['a network that leads nowhere', { hostname: '255.255.255.255' }, '255.255.255.255'],
    ['a port that nobody listens on', { port: '1' }, ':1'],
  ])('%s', async (_, part, words) => {
    const operation = op(clientOf(Object.assign(new URL(server.url), part).href));
    await expectAway(operation);
    expect(operation.words.join()).toContain(words);
  });
});

test('57P01, 57P02 and 57P03: it shuts down, its processes crash, and it starts up: one effect in the end', async () => {
  const client = clientOf(server.url);
  const told: unknown[] = [];
  for (const end of ['SIGINT', 'SIGQUIT'] as const) {
    const key = freshKey();
    let isFirst = true;
    const operation = op(client, async (tx) => {
      if (!isFirst) return;
      isFirst = false;
      await Promise.all([tx.$queryRawUnsafe('SELECT pg_sleep(20)::text'), server.signal(end)]);
    });
    const executing = operation.execute({ key, payload: {} });
    expect(await executing).toMatchObject({ ...AWAY, executed: false });
    const restarted = server.restart();
    await until('it has started up', async () => {
      const again = await operation.execute({ key, payload: {}, attempt: 2 });
      told.push(again.ok || again.code);
      return again.ok;
    });
    await restarted;
    expect(operation.during.filter((at) => at !== 'database')).toEqual([]);
    expectCounted(await effects(client, key)).toBe(1);
  }
  expect(new Set(told)).toEqual(new Set(['unavailable', true]));
  sql = await connect();
});

describe('a pooler', { tags: 'pgbouncer' }, () => {
  const bounce = async (more: Parameters<typeof startPgBouncer>[1]): Promise<PgBouncer> => {
    const bouncer = await startPgBouncer(server.url, more);
    closers.push(() => bouncer.close());
    return bouncer;
  };

  test('lets no more clients in (max_client_conn)', async () => {
    const bouncer = await bounce({ connections: 1, settings: ['max_client_conn = 2'] });
    const hogs = [await connect(bouncer.url), await connect(bouncer.url)];
    const operation = op(clientOf(bouncer.url));
    const key = await expectAway(operation);
    expect(operation.words.join()).toContain('no more connections allowed');
    await Promise.all(hogs.map((hog) => hog.end()));
    await expectBack(operation, key);
  });

  test('has no server free in time (query_wait_timeout)', async () => {
    const bouncer = await bounce({ connections: 1, settings: ['query_wait_timeout = 1'] });
    const hog = await connect(bouncer.url);
    await hog.query('BEGIN');
    const operation = op(clientOf(bouncer.url));
    const key = await expectAway(operation);
    expect(operation.words.join()).toContain('query_wait_timeout');
    await hog.query('COMMIT');
    await hog.end();
    await expectBack(operation, key);
  });

  test.each([
    ['its server crashes (server conn crashed?)', 'SELECT pg_terminate_backend(pg_backend_pid())', []],
    ['it takes too long for it (query_timeout)', 'SELECT pg_sleep(4)::text', ['query_timeout = 1']],
  ])('in the middle of an execution %s', async (_, text, settings) => {
    const bouncer = await bounce({ connections: 2, settings });
    const client = clientOf(bouncer.url);
    const operation = op(client, (tx) => tx.$queryRawUnsafe(text));
    const key = freshKey();
    expect(await operation.execute({ key, payload: {} })).toMatchObject({ ...AWAY, executed: false });
    expect(operation.during).toEqual(['database']);
    await expectBack(op(client), key);
  });

  test('cannot reach its server, and says so for a while (server_login_retry)', async () => {
    const bouncer = await bounce({ connections: 2, settings: ['server_login_retry = 1'] });
    const operation = op(clientOf(bouncer.url));
    expect(await operation.execute({ key: freshKey(), payload: {} })).toMatchObject({ ok: true });
    await server.stop();
    const key = freshKey();
    await expect
      .poll(() => operation.execute({ key, payload: {}, attempt: 1 }).then(() => operation.words.join()), {
        timeout: 20_000,
      })
      .toContain('server_login_retry');
    await expectAway(operation);
    await server.restart();
    await expectBack(operation, key);
    sql = await connect();
  });
});
