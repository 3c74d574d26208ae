import { StoreUnavailableError } from '../store.ts';
import { bounded } from './bounded.ts';
import { type ClientLike, Connection } from './connection.ts';
import { isForgotten } from './errors.ts';
import { isUnavailable } from './outage.ts';
import type { Answer, Rows, Statement } from './statement.ts';
import { driverError } from './wire.ts';
import { commitWithheld } from './withheld.ts';
import { expectContexts, runWithin, within } from './within.ts';

/** A pool of `pg`'s, by its shape: the kit imports none. */
export interface PoolLike {
  readonly options: object;
  readonly ending?: boolean;
  connect(...args: never[]): unknown;
  query(config: never): unknown;
  on(event: 'acquire', listener: (client: never) => void): unknown;
}

/** On a wrapped pool: its own `connect`. A bundler may give the app's client and its pages a copy of this module each. */
const CONNECT = Symbol.for('oncekit.connect');

type Wrapped = PoolLike & {
  [CONNECT]?: (told: (error: unknown, client: ClientLike | undefined) => void) => void;
};

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
    const committing = commitWithheld();
    if (committing) return committing.then(() => (pool.query as (...args: never[]) => unknown)(...args));
    const here = within();
    here?.tellPool?.(pool);
    return here?.ambient?.pool === pool ? here.ambient.query(here, args) : query.apply(pool, args);
  }) as Pool['query'];
  const connect = pool.connect as (...args: unknown[]) => unknown;
  Object.defineProperty(pool, CONNECT, { value: connect });
  pool.connect = ((...args: unknown[]) => {
    const committing = commitWithheld();
    if (committing) return committing.then(() => (pool.connect as (...args: unknown[]) => unknown)(...args));
    const here = within();
    if (here?.ambient?.pool === pool) return here.ambient.connect(here, args as never[]);
    const [told] = args;
    if (typeof told !== 'function') return connect.apply(pool, args);
    // The pool calls it in the context of the code that has given the connection back, which may be within an execution.
    return connect.call(pool, (...given: unknown[]) => runWithin(here, () => told(...given)));
  }) as Pool['connect'];
  // Each connection is known, and its end listened for, before the pool gives it away.
  pool.on('acquire', (client: ClientLike) => void Connection.of(client));
  return pool;
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
 * A connection of a wrapped pool. One that comes too late goes back to the pool.
 *
 * @throws StoreUnavailableError where none is to be had in time; the driver's error where none can be made
 */
export function acquire(pool: PoolLike, withinMs: number): Promise<Acquired> {
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

/** One statement on a connection of a wrapped pool, outside a transaction. Only a read may be asked again. */
export async function ask(pool: PoolLike, statement: Statement): Promise<Rows> {
  const answer = await askOnce(pool, statement);
  if ('rows' in answer) return answer.rows;
  // The server has ended an idle connection, and the pool had not heard of it yet; or it keeps the statement no more.
  const mayAsk = isUnavailable(answer.error) || isForgotten(answer.error);
  const again = mayAsk ? await askOnce(pool, statement) : answer;
  if ('error' in again) throw again.error;
  return again.rows;
}

async function askOnce(pool: PoolLike, statement: Statement): Promise<Answer> {
  const { connection, giveBack } = await acquire(pool, Number.POSITIVE_INFINITY);
  const answer = await connection.ask(statement);
  giveBack('error' in answer && isUnavailable(answer.error) ? answer.error : undefined);
  return answer;
}

export const exhausted = (withinMs: number) =>
  new StoreUnavailableError(`No connection was to be had of the pool within ${Math.round(withinMs)} ms.`);
