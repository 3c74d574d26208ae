import { ExecutionClosedError, IdempotencyError } from '../../core/errors.ts';
import type { PoolLike } from './ride.ts';
import { type QueryResult, resultOf } from './seat.ts';
import { driverError } from './wire.ts';
import type { Within } from './within.ts';

type Query = (...args: never[]) => unknown;
type Control = (text: string) => Promise<unknown>;

/** The connection of a transaction, as far as its queries need it. */
interface Connection {
  query: Query;
}

/**
 * One transaction on a connection of its own, or a savepoint in one, that queries find by the async context they are made
 * in. Once it is over nothing gets onto the connection any more, whoever still asks.
 */
export class AmbientTransaction {
  /** The context of the code that runs in it. */
  readonly here: Within = { ambient: this };
  /** The context of a query of it that Prisma is executing. */
  readonly inQuery: Within = { ambient: this, isQuery: true };
  /** Whose transaction it is: the client under all its extensions. */
  readonly client: object;
  readonly pool: PoolLike;
  readonly #connection: Connection;
  readonly #outer: AmbientTransaction | undefined;
  #depth = 0;
  #isOver = false;
  /** There while a nested one is open. Never rejects. */
  #nested: Promise<void> | undefined;

  constructor(client: object, pool: PoolLike, connection: Connection, outer?: AmbientTransaction) {
    this.client = client;
    this.pool = pool;
    this.#connection = connection;
    this.#outer = outer;
    if (outer) this.#depth = outer.#depth + 1;
  }

  get isOver(): boolean {
    return this.#isOver || (this.#outer?.isOver ?? false);
  }

  /** Whether it is that transaction, or a savepoint in it. */
  isWithin(transaction: AmbientTransaction): boolean {
    return this === transaction || (this.#outer?.isWithin(transaction) ?? false);
  }

  /** What the pool's `query` does within it. */
  query(...args: never[]): unknown {
    if (this.isOver) return refused(args, closed());
    // A branch beside an open savepoint. On the wire now, its query would be rolled back with what it is no part of.
    if (this.#nested) return this.#nested.then(() => this.query(...args));
    return this.#connection.query(...args);
  }

  /**
   * What the pool's `connect` does within it: gives a query of several statements what it takes for a transaction of its
   * own. It has ours, as it would have within an interactive transaction of Prisma's, so BEGIN and COMMIT are none.
   */
  connect({ isQuery }: Within, args: never[]): unknown {
    if (this.isOver) return refused(args, closed());
    if (!isQuery || args.length > 0) return refused(args, stranger());
    const query = (config: { text?: string }, ...rest: never[]) =>
      IS_CONTROL.test(config.text ?? '')
        ? Promise.resolve<QueryResult>(resultOf(config.text as string))
        : this.query(config as never, ...rest);
    const client = { query, release: ignored, on: () => client, removeListener: () => client };
    return Promise.resolve(client);
  }

  /**
   * Runs it in a savepoint, to which everything is rolled back where it throws. One at a time, for savepoints are a stack:
   * to release the lower of two would release both.
   */
  async nest<T>(run: (nested: AmbientTransaction) => Promise<T>): Promise<T> {
    while (this.#nested) await this.#nested;
    if (this.isOver) throw closed();
    let leave = ignored;
    this.#nested = new Promise((left) => {
      leave = () => left();
    });
    try {
      return await this.#inSavepoint(new AmbientTransaction(this.client, this.pool, this.#connection, this), run);
    } finally {
      this.#nested = undefined;
      leave();
    }
  }

  async #inSavepoint<T>(nested: AmbientTransaction, run: (nested: AmbientTransaction) => Promise<T>): Promise<T> {
    const savepoint = `oncekit_${nested.#depth}`;
    const send: Control = async (text) => {
      if (this.isOver) throw closed();
      return await (this.#connection.query as unknown as (config: { text: string }) => Promise<unknown>)({ text });
    };
    await send(`SAVEPOINT ${savepoint}`).catch(rethrow);
    try {
      const value = await run(nested);
      nested.assertAlone();
      nested.close();
      await send(`RELEASE SAVEPOINT ${savepoint}`).catch(rethrow);
      return value;
    } catch (error) {
      nested.close();
      // Where even that fails, the whole transaction does, by the error that is thrown or by its completion.
      await send(`ROLLBACK TO SAVEPOINT ${savepoint}`)
        .then(() => send(`RELEASE SAVEPOINT ${savepoint}`))
        .catch(ignored);
      throw error;
    }
  }

  /** From now on nothing gets onto the connection. */
  close(): void {
    this.#isOver = true;
  }

  /** @throws IdempotencyError where a savepoint in it is still open */
  assertAlone(): void {
    if (!this.#nested) return;
    throw new IdempotencyError('A transaction within the handler was still open when it returned. Await it.', {
      existing: 'an open $transaction',
      expected: 'none',
    });
  }
}

const IS_CONTROL = /^(BEGIN|COMMIT|ROLLBACK|SET TRANSACTION ISOLATION LEVEL .*)$/;
const ignored = () => {};

function rethrow(error: unknown): never {
  throw error instanceof IdempotencyError ? error : driverError(error);
}

/** As `pg` tells an error: to the callback, where there is one. */
function refused(args: readonly unknown[], error: Error): unknown {
  const told = args.at(-1);
  return typeof told === 'function' ? told(error) : Promise.reject(error);
}

const closed = () =>
  new ExecutionClosedError(
    'A query came after its execution had ended; nothing was done. Await every query, and wrap what goes on by itself in outside().',
    {
      existing: 'an execution that has ended',
      expected: 'a query while its handler runs, or outside(() => …)',
    },
  );

const stranger = () =>
  new IdempotencyError(
    'A transaction that the kit does not control was begun within an execution. Use the client that createIdempotency was given, or wrap it in outside().',
    { existing: 'pool.connect(), or $transaction of another client of the same pool', expected: 'outside(() => …)' },
  );
