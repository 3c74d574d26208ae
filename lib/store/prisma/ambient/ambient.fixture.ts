import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { expectCounted } from '../../../../scripts/testing/expect-counted.ts';
import { type TestDatabase, testDatabase } from '../../../../scripts/testing/test-database.ts';
import { type Client, createClient } from '../../../../shop/db.ts';
import { anything, effect, freshKey, gate, kit, type Tx, watchOf } from '../../../integration/kit.fixture.ts';

/** Shared by the tests of the kit's own transactions. Rows are counted by a connection of its own, never by the client in question. */

export interface Context {
  /** As Prisma's own transaction client has it at run time. */
  tx: Client;
  key: string;
  afterCommit: (run: () => void | Promise<void>) => void;
}

type Handle = (context: Context) => Promise<unknown>;

interface How {
  key?: string;
  timeoutMs?: number;
  maxWaitMs?: number;
  attempt?: number;
  isolationLevel?: 'ReadCommitted' | 'RepeatableRead' | 'Serializable';
}

/** One execution, and what its handler has thrown. */
export async function execute(client: Client, handle: Handle, { key = freshKey(), attempt, ...options }: How = {}) {
  const errors: Error[] = [];
  const operation = kit(client, { onError: (error) => void errors.push(error as Error) })
    .operation({ name: 'checkout', schema: anything, ...options })
    .handler(async (context) => (await handle(context as unknown as Context)) as string);
  const outcome = await operation.execute({ key, payload: {}, ...(attempt ? { attempt } : {}) });
  return { key, outcome, error: errors[0] };
}

/** Which connection it is asked on. */
export const pidOf = async (db: Pick<Tx, '$queryRawUnsafe'>): Promise<number> =>
  (await db.$queryRawUnsafe<[{ pid: number }]>('SELECT pg_backend_pid() AS pid'))[0].pid;

/** The data of a nested write, which Prisma makes a transaction of its own. */
export const orderWithRefund = (action: string) => ({
  id: crypto.randomUUID(),
  tenant: 't',
  principal: action,
  sku: 'mug',
  quantity: 1,
  amountCents: 100,
  status: 'pending',
  paymentMethod: 'pm',
  source: 'api',
  refunds: {
    create: {
      id: crypto.randomUUID(),
      tenant: 't',
      principal: 'p',
      amountCents: 1,
      status: 'pending',
      source: 'provider',
    },
  },
});

/** The end of a promise, as a value. */
export const ended = (promise: PromiseLike<unknown>): Promise<unknown> =>
  Promise.resolve(promise).catch((error: unknown) => error);

/** Opens once so many have come: those who meet there go on in the same tick. */
export function barrier(many: number) {
  const { open, opened } = gate();
  return () => {
    if (--many === 0) open();
    return opened;
  };
}

/** A context that was there before any execution: what is called in it has lost its own, as in a queue or a stream. */
export function elsewhere() {
  const waiting: (() => void)[] = [];
  const asked: { next?: () => void } = {};
  const serve = async () => {
    // Bounded: it is idle until it is asked, and keeps nobody.
    for (;;) {
      await new Promise<void>((next) => {
        asked.next = next;
        if (waiting.length > 0) next();
      });
      for (const run of waiting.splice(0)) run();
    }
  };
  void serve();
  return <T>(run: () => PromiseLike<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      waiting.push(() => void (async () => await run())().then(resolve, reject));
      asked.next?.();
    });
}

/** A pool whose connection gives each query up by itself that comes behind `hurry` (`query_timeout`); the next one does not. */
export function impatientPool(connectionString: string) {
  let parameters: object = {};
  const pool = new pg.Pool({ connectionString, max: 1 }).on('connect', (made) => {
    parameters = (made as unknown as { connectionParameters: object }).connectionParameters;
  });
  return { pool, hurry: () => void Object.assign(parameters, { query_timeout: 300 }) };
}

/** A database of its own for a test file, a connection to look at it, and clients that end with the test. */
export function stage(options: Parameters<typeof testDatabase>[0] = {}) {
  let database: TestDatabase;
  let watch: Awaited<ReturnType<typeof watchOf>>;
  let counting: pg.Pool;
  const closers: (() => unknown)[] = [];
  beforeAll(async () => {
    database = await testDatabase(options);
    watch = await watchOf(database.url);
    counting = new pg.Pool({ connectionString: database.url, max: 2 });
  });
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });
  afterAll(async () => {
    await Promise.all([watch?.close(), counting?.end()]);
    await database?.drop();
  });
  const count = async (sql: string, values: unknown[]): Promise<number> =>
    (await counting.query(`SELECT count(*)::int AS n FROM ${sql}`, values)).rows[0].n;
  const written = (action: string) => count('audit_records WHERE action = $1', [action]);
  const counted = async (key: string) => [await written(key), await count('idempotency_keys WHERE key = $1', [key])];
  return {
    get client() {
      return database.client;
    },
    get url() {
      return database.url;
    },
    get watch() {
      return watch;
    },
    /** To be done when the test is over. */
    later: (close: () => unknown) => void closers.push(close),
    /** A client on a wrapped pool of its own, and that pool. */
    another: (config: pg.PoolConfig = {}) => {
      const pool = new pg.Pool({ connectionString: database.url, max: 5, ...config });
      const client = createClient(database.url, { pool });
      closers.push(() => client.$disconnect());
      return { client, pool };
    },
    written,
    /** How often the business row is there, and the key. */
    counted,
    /** Nothing was committed, the next attempt executes on the same pool, and the one behind it is answered by that. */
    expectAnother: async (client: Client, key: string) => {
      expectCounted(await counted(key)).toEqual([0, 0]);
      const again = (attempt: number) => execute(client, ({ tx, key }) => effect(tx, key), { key, attempt });
      expect((await again(2)).outcome).toMatchObject({ ok: true, replayed: false });
      expect((await again(3)).outcome).toMatchObject({ ok: true, replayed: true });
      expectCounted(await counted(key)).toEqual([1, 1]);
    },
    /** The next execution on a pool of one finds a transaction that is nobody's but its own, and so does the server. */
    expectCleanNext: async (client: Client, pool: pg.Pool) => {
      const { key, outcome } = await execute(client, async ({ tx, key }) => {
        await effect(tx, key);
        const [seen] = await tx.$queryRaw<{ rows: number; locks: number }[]>`
          SELECT (SELECT count(*)::int FROM audit_records WHERE action LIKE '%late%') AS rows,
                 (SELECT count(*)::int FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory') AS locks`;
        return seen;
      });
      expect(outcome).toMatchObject({ ok: true, data: { rows: 0, locks: 1 } }); // the lock is its own ticket
      expectCounted(await counted(key)).toEqual([1, 1]);
      await watch.untilIdle();
      expect([pool.totalCount, pool.idleCount, pool.waitingCount]).toEqual([1, 1, 0]);
    },
    /** Has the server do this with a row of a table, until the test is over. */
    trigger: async (when: string, body: string) => {
      await watch.query(`CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body} END $$`);
      await watch.query(`CREATE ${when} FOR EACH ROW EXECUTE FUNCTION fault()`);
      const lift = () => watch.query('DROP FUNCTION IF EXISTS fault() CASCADE');
      closers.push(lift);
      return lift;
    },
  };
}

/** When a trigger runs that meets the completion, and one that meets COMMIT. */
export const AT_COMPLETION = 'TRIGGER fault BEFORE INSERT OR UPDATE ON idempotency_keys';
export const AT_COMMIT = 'CONSTRAINT TRIGGER fault AFTER INSERT ON audit_records DEFERRABLE INITIALLY DEFERRED';
