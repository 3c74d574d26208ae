import { StoreUnavailableError } from '../../store.ts';
import {
  type AsyncContext,
  currentContext,
  endingIn,
  expectPool,
  flushPendingCommits,
  ownTransactionIn,
  runInContext,
} from '../async-context.ts';
import { driverError, isOutage } from '../errors.ts';
import { withTimeout } from '../timeouts.ts';
import { TrackedConnection } from './connection.ts';
import type { ClientLike, PoolLike } from './driver.ts';

/** Answers a query that is not sent. */
const NOTHING = { command: 'SELECT', rowCount: 0, rows: [], fields: [] };

/** How long connecting may take where the pool sets no limit, in milliseconds. */
const CONNECT_MS = 5000;

/** On a wrapped pool: its own `connect`. A bundler may give the app's client and its pages a copy of this module each. */
const CONNECT = Symbol.for('oncekit.connect');

type Connect = (done: (error: unknown, client: ClientLike | undefined, ...more: unknown[]) => void) => void;

type Wrapped = PoolLike & { [CONNECT]?: Connect };

/**
 * Lets the kit run executions on connections of this pool, in as many round trips as the bare transaction: the claim of a
 * key travels with BEGIN, and its answer with COMMIT. All else goes through the pool as before.
 *
 * A connection that the server ends while it is checked out fails its query; it never ends the process.
 *
 * `new PrismaPg(oncekitPool(new Pool({ connectionString })), { disposeExternalPool: true })`. Without this, or with
 * `pg-native` or `pg`'s pipeline mode, executions run in Prisma's interactive transactions, in which only what goes
 * through `tx` is, at four round trips more; what is written past it is refused.
 *
 * @returns the same pool
 */
export function oncekitPool<Pool extends PoolLike>(pool: Pool): Pool {
  if (isWrapped(pool)) return pool;
  expectPool();
  const query = pool.query as (...args: never[]) => unknown;
  pool.query = ((...args: never[]) => {
    const here = currentContext();
    const ending = endingIn(here);
    if (ending) return ending.then(() => (pool.query as (...args: never[]) => unknown)(...args));
    if (here?.reportPool?.(pool, (args[0] as { text?: unknown } | undefined)?.text)) return Promise.resolve(NOTHING);
    const transaction = ownTransactionIn(here);
    if (transaction?.begun.pool === pool) return transaction.query(here as AsyncContext, args);
    return query.apply(pool, args);
  }) as Pool['query'];
  const connect = skipSuspects(pool);
  Object.defineProperty(pool, CONNECT, { value: connect });
  pool.connect = ((...args: unknown[]) => {
    const here = currentContext();
    const ending = endingIn(here);
    if (ending) return ending.then(() => (pool.connect as (...args: unknown[]) => unknown)(...args));
    const transaction = ownTransactionIn(here);
    if (transaction?.begun.pool === pool) return transaction.connect(here as AsyncContext, args as never[]);
    const tracked: Connect = (done) =>
      connect((error, client, release) => {
        if (client) here?.checkedOut?.add(client);
        done(error, client, client?.release ?? release);
      });
    const [done] = args;
    if (typeof done !== 'function') {
      return new Promise((resolve, reject) => tracked((error, client) => (client ? resolve(client) : reject(error))));
    }
    // The pool calls it in the context of the code that has given the connection back, which may be within an execution.
    return tracked((...given) => runInContext(here, () => done(...given)));
  }) as Pool['connect'];
  const { Client } = pool;
  if (Client) {
    // One that is never made would keep its place in the pool for good.
    pool.Client = class extends Client {
      constructor(config: { connectionTimeoutMillis?: number }) {
        super({ ...config, connectionTimeoutMillis: config.connectionTimeoutMillis || CONNECT_MS });
      }
    };
  }
  return pool;
}

/**
 * The pool's own `connect`, which passes over connections that were last seen working before another one was lost: a network
 * that has silenced one has silenced the others, and a query on each would wait until its time is up. A server that has
 * become a standby does not close them either.
 */
function skipSuspects(pool: PoolLike): Connect {
  const connect = pool.connect.bind(pool) as unknown as Connect;
  const goodAt = new WeakMap<ClientLike, number>();
  let lostAt = Number.NEGATIVE_INFINITY;
  pool.on('acquire', (client: ClientLike) => {
    TrackedConnection.of(client); // listens for its end before the pool gives it away
    if (!goodAt.has(client)) goodAt.set(client, performance.now());
  });
  pool.on('release', (error: unknown, client: ClientLike) => {
    if (!error) goodAt.set(client, performance.now());
    else if (isOutage(error)) lostAt = performance.now();
  });
  const trusted: Connect = (done) =>
    connect((error, client, ...more) => {
      if (!client || (goodAt.get(client) ?? lostAt) >= lostAt) return done(error, client, ...more);
      client.release(true);
      trusted(done);
    });
  return trusted;
}

/** Tells whether this version of the kit has wrapped it. */
export function isWrapped(pool: PoolLike): boolean {
  return CONNECT in pool;
}

/** A connection that is the kit's until it is released, which is done once, and never throws. */
type AcquiredConnection = Readonly<ReturnType<typeof acquiredOf>>;

/**
 * Takes a connection from a wrapped pool, once the writes of phases that may be read on it are committed (ADR 37). One that
 * comes too late goes back to the pool.
 *
 * @throws StoreUnavailableError where none is to be had in time; the driver's error where none can be made
 */
export function acquire(pool: PoolLike, withinMs: number): Promise<AcquiredConnection> {
  const committing = flushPendingCommits();
  return committing
    ? withTimeout(committing, withinMs).then(() => acquireNow(pool, withinMs))
    : acquireNow(pool, withinMs); // an await costs even if there is nothing to wait for
}

/** Runs something on a connection of a wrapped pool. One that has ended, or has not answered in time, is destroyed. */
export async function withConnection<T>(
  pool: PoolLike,
  waitMs: number,
  ask: (connection: TrackedConnection) => Promise<T>,
): Promise<T> {
  const { connection, release } = await acquire(pool, waitMs);
  let broken: unknown;
  try {
    return await ask(connection);
  } catch (error) {
    if (isOutage(error)) broken = error;
    throw error;
  } finally {
    release(broken);
  }
}

function acquireNow(pool: PoolLike, withinMs: number): Promise<AcquiredConnection> {
  let isLate = false;
  const connected = new Promise<AcquiredConnection>((resolve, reject) => {
    (pool as Wrapped)[CONNECT]?.((error, client) => {
      if (!client) return reject(driverError(error));
      const acquired = acquiredOf(client);
      // Once the pool has returned: within this call, it would call the next one who waits, and so on, each on top of the last.
      if (isLate) process.nextTick(acquired.release);
      else resolve(acquired);
    });
  });
  return withTimeout(connected, withinMs, () => {
    isLate = true;
    return poolExhausted(withinMs);
  });
}

function acquiredOf(client: ClientLike) {
  // Of this checkout: behind it `client.release` is the next one's.
  const own = client.release;
  /** @param broken why it must not be used again */
  const release = (broken?: unknown) => {
    try {
      own.call(client, broken);
    } catch (error) {
      // Of a listener, or of the code that was waiting for the connection: it says nothing of what was done on it here.
      queueMicrotask(() => {
        throw error;
      });
    }
  };
  return { connection: TrackedConnection.of(client), release };
}

const poolExhausted = (withinMs: number) =>
  new StoreUnavailableError(`No connection was to be had of the pool within ${Math.round(withinMs)} ms.`);

/** The connections of a wrapped pool that code of others has taken for one question, and not given back yet. */
export class CheckedOutClients {
  readonly #taken = new Set<ClientLike>();
  #whyGivenUp: unknown;

  /** Notes one until it is given back. One that comes too late is of no use any more. */
  add(client: ClientLike): void {
    // Of this checkout: behind it `client.release` is the next one's.
    const { release } = client;
    this.#taken.add(client);
    client.release = (broken) => {
      if (this.#taken.delete(client)) release.call(client, broken);
    };
    if (this.#whyGivenUp !== undefined) client.release(this.#whyGivenUp);
  }

  /** Nobody waits for the question any more: they are destroyed, and whoever has taken them need not give them back. */
  destroy(why: unknown): void {
    this.#whyGivenUp = why;
    for (const client of this.#taken) client.release(why);
  }
}
