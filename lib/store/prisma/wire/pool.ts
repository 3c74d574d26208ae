import { StoreUnavailableError } from '../../store.ts';
import { expectContexts, runWithin, within } from '../async-context.ts';
import { isOutage } from '../outage.ts';
import { bounded } from '../with-timeout.ts';
import { type ClientLike, Connection } from './connection.ts';
import { driverError } from './encoding.ts';
import { flushPendingCommits } from './pending-commits.ts';

/** Answers a query that is not sent. */
const NOTHING = { command: 'SELECT', rowCount: 0, rows: [], fields: [] };

/** A pool of `pg`'s, by its shape: the kit imports none. */
export interface PoolLike {
  readonly options: object;
  readonly ending?: boolean;
  /** The class of its connections. */
  Client?: new (config: {
    connectionTimeoutMillis?: number;
  }) => object;
  connect(...args: never[]): unknown;
  query(config: never): unknown;
  on(event: 'acquire' | 'release', listener: (...told: never[]) => void): unknown;
}

/** How long it may take to make a connection, where the pool does not say. */
const CONNECT_MS = 5000;

/** On a wrapped pool: its own `connect`. A bundler may give the app's client and its pages a copy of this module each. */
const CONNECT = Symbol.for('oncekit.connect');

type Connect = (told: (error: unknown, client: ClientLike | undefined, ...more: unknown[]) => void) => void;

type Wrapped = PoolLike & { [CONNECT]?: Connect };

/**
 * Lets the kit run executions on connections of this pool, in as many round trips as the bare transaction: the claim of a
 * key travels with BEGIN, and its answer with COMMIT. All else goes through the pool as before.
 *
 * A connection that the server ends while it is checked out fails its query; it never ends the process.
 *
 * `new PrismaPg(oncekitPool(new Pool({ connectionString })), { disposeExternalPool: true })`. Without this, or with
 * `pg-native` or `pg`'s pipeline mode, executions run in Prisma's interactive transactions: the same guarantees at four
 * round trips more.
 *
 * @returns the same pool
 */
export function oncekitPool<Pool extends PoolLike>(pool: Pool): Pool {
  if (isWrapped(pool)) return pool;
  expectContexts();
  const query = pool.query as (...args: never[]) => unknown;
  pool.query = ((...args: never[]) => {
    // ADR 37: what a phase has written must be there for whatever is asked behind it.
    const committing = flushPendingCommits();
    if (committing) return committing.then(() => (pool.query as (...args: never[]) => unknown)(...args));
    const here = within();
    if (here?.tellPool?.(pool, (args[0] as { text?: unknown } | undefined)?.text)) return Promise.resolve(NOTHING);
    return here?.ambient?.pool === pool ? here.ambient.query(here, args) : query.apply(pool, args);
  }) as Pool['query'];
  const connect = connectTrusted(pool);
  Object.defineProperty(pool, CONNECT, { value: connect });
  pool.connect = ((...args: unknown[]) => {
    const committing = flushPendingCommits();
    if (committing) return committing.then(() => (pool.connect as (...args: unknown[]) => unknown)(...args));
    const here = within();
    if (here?.ambient?.pool === pool) return here.ambient.connect(here, args as never[]);
    const noting: Connect = (told) =>
      connect((error, client, release) => {
        if (client) here?.checkouts?.note(client);
        told(error, client, client?.release ?? release);
      });
    const [told] = args;
    if (typeof told !== 'function') {
      return new Promise((resolve, reject) => noting((error, client) => (client ? resolve(client) : reject(error))));
    }
    // The pool calls it in the context of the code that has given the connection back, which may be within an execution.
    return noting((...given) => runWithin(here, () => told(...given)));
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
 * The pool's own `connect`, past the connections that led where one has been lost since: a network that has silenced one has
 * silenced the others, and what is asked on each would wait until its time is up. Nor does a server that has become a
 * standby close them.
 */
function connectTrusted(pool: PoolLike): Connect {
  const connect = pool.connect.bind(pool) as unknown as Connect;
  const goodAt = new WeakMap<ClientLike, number>();
  let lostAt = Number.NEGATIVE_INFINITY;
  pool.on('acquire', (client: ClientLike) => {
    Connection.of(client); // each is known, and its end listened for, before the pool gives it away
    if (!goodAt.has(client)) goodAt.set(client, performance.now());
  });
  pool.on('release', (error: unknown, client: ClientLike) => {
    if (!error) goodAt.set(client, performance.now());
    else if (isOutage(error)) lostAt = performance.now();
  });
  const trusted: Connect = (told) =>
    connect((error, client, ...more) => {
      if (!client || (goodAt.get(client) ?? lostAt) >= lostAt) return told(error, client, ...more);
      client.release(true);
      trusted(told);
    });
  return trusted;
}

/** Whether this version of the kit has wrapped it. */
export function isWrapped(pool: PoolLike): boolean {
  return CONNECT in pool;
}

/** A connection that is ours until it is given back, which is done once, and never throws. */
export interface Acquired {
  readonly connection: Connection;
  /** @param broken why it must not be used again */
  giveBack(broken?: unknown): void;
}

/**
 * A connection of a wrapped pool. One that comes too late goes back to the pool. Not before what phases have written is
 * committed, which may be asked for on it (ADR 37).
 *
 * @throws StoreUnavailableError where none is to be had in time; the driver's error where none can be made
 */
export function acquire(pool: PoolLike, withinMs: number): Promise<Acquired> {
  const committing = flushPendingCommits();
  return committing ? bounded(committing, withinMs).then(() => acquireNow(pool, withinMs)) : acquireNow(pool, withinMs); // an await costs even if there is nothing to wait for
}

/** Asks something on a connection of a wrapped pool. One that has ended, or has not answered in time, is destroyed. */
export async function withConnection<T>(
  pool: PoolLike,
  waitMs: number,
  ask: (connection: Connection) => Promise<T>,
): Promise<T> {
  const { connection, giveBack } = await acquire(pool, waitMs);
  let broken: unknown;
  try {
    return await ask(connection);
  } catch (error) {
    if (isOutage(error)) broken = error;
    throw error;
  } finally {
    giveBack(broken);
  }
}

function acquireNow(pool: PoolLike, withinMs: number): Promise<Acquired> {
  let isLate = false;
  const connected = new Promise<Acquired>((resolve, reject) => {
    (pool as Wrapped)[CONNECT]?.((error, client) => {
      if (!client) return reject(driverError(error));
      const acquired = acquiredOf(client);
      if (isLate) acquired.giveBack();
      else resolve(acquired);
    });
  });
  return bounded(connected, withinMs, () => {
    isLate = true;
    return exhausted(withinMs);
  });
}

function acquiredOf(client: ClientLike): Acquired {
  // Of this checkout: behind it `client.release` is the next one's.
  const { release } = client;
  const giveBack = (broken?: unknown) => {
    try {
      release.call(client, broken);
    } catch (error) {
      // Of a listener, or of the code that was waiting for the connection: it says nothing of what was done on it here.
      queueMicrotask(() => {
        throw error;
      });
    }
  };
  return { connection: Connection.of(client), giveBack };
}

const exhausted = (withinMs: number) =>
  new StoreUnavailableError(`No connection was to be had of the pool within ${Math.round(withinMs)} ms.`);
