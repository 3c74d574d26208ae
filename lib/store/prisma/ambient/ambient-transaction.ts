import { ExecutionClosedError, IdempotencyError } from '../../../core/errors.ts';
import type { IsolationLevel } from '../../rows.ts';
import { type AsyncContext, type ContextTransaction, runInContext } from '../async-context.ts';
import { type Rows, rowsOf, type Statement } from '../statement.ts';
import type { TrackedConnection } from '../wire/connection.ts';
import type { PoolLike } from '../wire/driver.ts';
import { driverError } from '../wire/encoding.ts';
import type { QueryQueue } from '../wire/query-queue.ts';

/** A transaction that was begun on a connection of its own. */
interface BegunTransaction {
  /** Its owner: the client under all its extensions. */
  client: object;
  pool: PoolLike;
  isolationLevel: IsolationLevel;
  connection: TrackedConnection;
  queue: QueryQueue;
}

/**
 * How long what a handler has left behind is refused where it was rolled back, in milliseconds: the next attempt would do it
 * again. No request lives longer; what does is no part of one, such as the interval of a writer that was first used in it.
 */
const LEFT_MS = 5 * 60_000;

/**
 * One transaction on a connection of its own, or a savepoint in one, that queries find by the async context they are made
 * in. Once it is over nothing gets onto the connection any more, whoever still asks.
 */
export class AmbientTransaction implements ContextTransaction {
  /** The context of the code that runs in it. */
  readonly context: AsyncContext = { transaction: this };
  readonly txContext: AsyncContext = { transaction: this, isByTx: true };
  /** The context of a query of it that Prisma is executing. */
  readonly queryContext: AsyncContext = { transaction: this, isPrismaQuery: true };
  readonly begun: BegunTransaction;
  readonly #outer: AmbientTransaction | undefined;
  readonly #depth: number;
  /** The transaction itself, of a savepoint as well. */
  readonly #root: AmbientTransaction;
  #isOver = false;
  /** Whether it is known to be committed, of the root; false as well where that is not known. There once it has ended. */
  #isCommitted: boolean | undefined;
  /** When the root's code has come back, by `performance.now()`. */
  #leftAt = Number.POSITIVE_INFINITY;
  #ending: { known: Promise<void>; tell: () => void } | undefined;
  /** It is a savepoint that was rolled back to. */
  #isUndone = false;
  /** There while a nested one is open. Never rejects. */
  #nested: Promise<void> | undefined;
  /** How many queries of its `tx` have been sent and are not answered, wherever they are between Prisma and the server. */
  #sent = 0;
  /** Queries of several statements that are not through, each until it is. */
  readonly #halves = new Set<Promise<void>>();

  /** @param begun the transaction on its connection; of a savepoint the same, and what it is in */
  constructor(begun: BegunTransaction, outer?: AmbientTransaction) {
    this.begun = begun;
    this.#outer = outer;
    this.#depth = outer ? outer.#depth + 1 : 0;
    this.#root = outer ? outer.#root : this;
  }

  get ending(): Promise<void> | undefined {
    const root = this.#root;
    if (!root.#isOver || root.#isCommitted !== undefined) return undefined;
    root.#ending ??= signal();
    return root.#ending.known;
  }

  get current(): AmbientTransaction | undefined {
    const root = this.#root;
    if (root.#isCommitted !== undefined && performance.now() - root.#leftAt > LEFT_MS) return undefined;
    if (!this.#isOver) return this;
    if (this.#outer) return this.#isUndone ? this : this.#outer.current;
    return this.#isCommitted ? undefined : this;
  }

  /** Tells whether it is that transaction, or a savepoint in it. */
  isWithin(transaction: ContextTransaction): boolean {
    return this === transaction || (this.#outer?.isWithin(transaction) ?? false);
  }

  /** @throws ExecutionClosedError where it is over, or one around it */
  assertOpen(): void {
    if (this.#isOver) throw executionClosed(this.#outer ? SAVEPOINT : this.#isCommitted === false ? UNDONE : EXECUTION);
    this.#outer?.assertOpen();
  }

  /** Answers the pool's `query` within it. */
  query({ isPrismaQuery }: AsyncContext, args: never[]): unknown {
    return answerAs(args, (asked) => {
      // It has not come by a loader that we pass by: it may be another execution's, of the same tick.
      if (!isPrismaQuery && isOfPrisma(asked[0])) throw foreignClient();
      return this.#sendUsers(asked);
    });
  }

  /** Sends a query of its `tx`, which is refused behind the end: one that is under way then fails it. */
  async send(query: PromiseLike<unknown>): Promise<unknown> {
    this.assertOpen();
    this.#sent++;
    try {
      return await runInContext(this.txContext, () => query.then());
    } finally {
      this.#sent--;
    }
  }

  /** A statement of the user's, past Prisma. */
  sql(config: { text: string; values: readonly unknown[] }): Promise<unknown> {
    return rejecting((args) => this.#sendUsers(args), [config] as never[]);
  }

  /** A statement of the kit's. */
  async ask(statement: Statement): Promise<Rows> {
    this.assertOpen();
    return rowsOf(await this.begun.queue.send(() => this.begun.connection.ask(statement), this.#mayGo));
  }

  /**
   * The pool's `connect` within it: gives a query builder, or a query of several statements of Prisma's, what it
   * takes for a connection of its own. It has ours, as it would have within an interactive transaction of Prisma's, so its BEGIN, COMMIT and ROLLBACK are
   * none: what it has written before it failed stays, unless the error fails the handler or a `$transaction` around it.
   */
  connect({ isPrismaQuery }: AsyncContext, args: never[]): unknown {
    return answerAs(args, async () => {
      this.assertOpen();
      const query = async (...asked: unknown[]) => {
        const text = textOf(asked[0]);
        // On the wire it would end ours, or open one that nobody ends.
        if (isPrismaQuery && IS_CONTROL.test(text)) return resultOf(text);
        if (MAY_CONTROL.test(text)) throw isPrismaQuery ? unknownControl(text) : foreignTransaction();
        return await this.#send(asked as never[]);
      };
      const client = { query, release: beginIn(this.#halves), on: () => client, removeListener: () => client };
      return client;
    });
  }

  /**
   * Runs it in a savepoint, to which everything is rolled back where it throws. One at a time, for savepoints are a stack:
   * to release the lower of two would release both.
   */
  async nest<T>(run: (nested: AmbientTransaction) => Promise<T>): Promise<T> {
    // Nor with the first half of a query before it, and the second one behind.
    while (this.#nested || this.#halves.size > 0) await (this.#nested ?? Promise.all(this.#halves));
    this.assertOpen();
    const { known, tell } = signal();
    this.#nested = known;
    try {
      return await this.#inSavepoint(new AmbientTransaction(this.begun, this), run);
    } finally {
      this.#nested = undefined;
      tell();
    }
  }

  async #inSavepoint<T>(nested: AmbientTransaction, run: (nested: AmbientTransaction) => Promise<T>): Promise<T> {
    const savepoint = `oncekit_${nested.#depth}`;
    await this.#control(`SAVEPOINT ${savepoint}`);
    try {
      const value = await run(nested);
      nested.finish();
      await this.#control(`RELEASE SAVEPOINT ${savepoint}`);
      return value;
    } catch (error) {
      nested.close();
      nested.#isUndone = true;
      // Where even that fails, nothing of the whole transaction is committed.
      await this.#control(`ROLLBACK TO SAVEPOINT ${savepoint}`)
        .then(() => this.#control(`RELEASE SAVEPOINT ${savepoint}`))
        .catch(() => {
          this.begun.queue.isLost = true;
        });
      throw error;
    }
  }

  /** From now on nothing gets onto the connection. */
  close(): void {
    this.#isOver = true;
  }

  /** Its code has returned, or thrown: what asks from now on was left behind. */
  leave(): void {
    this.#leftAt = performance.now();
  }

  /** @param isCommitted false also where that is not known */
  end(isCommitted: boolean): void {
    this.#isCommitted = isCommitted;
    this.#ending?.tell();
  }

  /**
   * The same where all went well.
   *
   * @throws IdempotencyError where something in it is still going on, or its end is not known: half of that would be
   *   committed
   */
  finish(): void {
    this.close();
    if (this.begun.queue.isLost) throw lostQuery();
    if (this.begun.queue.hasStaleStatement) throw staleStatement();
    if (!this.#nested && this.#halves.size === 0 && this.#sent === 0 && this.begun.queue.pending === 0) return;
    throw new IdempotencyError('A query was still running when its handler, or its $transaction, returned. Await it.', {
      existing: this.#nested ? 'an open $transaction' : 'a query without an answer',
      expected: 'none',
    });
  }

  /** @throws IdempotencyError for what would control the transaction */
  #sendUsers(args: never[]): Promise<unknown> {
    const text = textOf(args[0]);
    if (CONTROLS.test(text)) throw forbiddenControl(text);
    return this.#send(args);
  }

  #send(args: never[]): Promise<unknown> {
    this.assertOpen();
    const query = () => this.begun.connection.query(...args);
    const isKept = args.length === 1 && this.begun.connection.prepare(args[0] as never);
    return this.#nested ? this.#sendBehind(query, isKept) : this.begun.queue.send(query, this.#mayGo, isKept);
  }

  /** Of a branch beside an open savepoint: on the wire now, it would be rolled back with what it is no part of. */
  async #sendBehind(query: () => Promise<unknown>, isKept: boolean): Promise<unknown> {
    while (this.#nested) await this.#nested;
    this.assertOpen();
    return await this.begun.queue.send(query, this.#mayGo, isKept);
  }

  readonly #mayGo = () => this.assertOpen();

  async #control(text: string): Promise<unknown> {
    this.assertOpen();
    try {
      return await this.begun.queue.send(() => this.begun.connection.query({ text } as never), this.#mayGo);
    } catch (error) {
      throw error instanceof IdempotencyError ? error : driverError(error);
    }
  }
}

const IS_CONTROL = /^(BEGIN|COMMIT|ROLLBACK|SET TRANSACTION ISOLATION LEVEL [A-Z ]+)$/;
const MAY_CONTROL = /^\W*(BEGIN|START|COMMIT|END|ROLLBACK|ABORT|SAVEPOINT|RELEASE|PREPARE|SET)\b/i;

/** The first word of what begins or ends a transaction, behind comments. ROLLBACK TO a savepoint does neither. */
const CONTROLS =
  /^(?:[\s;]|--.*(?:\n|$)|\/\*[\s\S]*?\*\/)*(?:BEGIN|START|COMMIT|END|ABORT|PREPARE\s+TRANSACTION|ROLLBACK(?!\s+(?:(?:WORK|TRANSACTION)\s+)?TO\b))\b/i;

const textOf = (asked: unknown): string =>
  String(typeof asked === 'string' ? asked : ((asked as { text?: unknown } | undefined)?.text ?? ''));

/** Tells whether it is in the words of Prisma's adapter. */
function isOfPrisma(asked: unknown): boolean {
  const { rowMode, types } = (asked ?? {}) as { rowMode?: unknown; types?: unknown };
  return rowMode === 'array' && types !== undefined;
}

function signal(): { known: Promise<void>; tell: () => void } {
  let tell = () => {};
  const known = new Promise<void>((told) => {
    tell = told;
  });
  return { known, tell };
}

/** Something that lasts. @returns what ends it */
function beginIn(going: Set<Promise<void>>): () => void {
  const { known, tell } = signal();
  going.add(known);
  return () => {
    going.delete(known);
    tell();
  };
}

/** As `pg` answers: a promise, or nothing where there is a callback. */
function answerAs(args: never[], ask: (args: never[]) => Promise<unknown>): unknown {
  const callback = args.at(-1) as unknown;
  if (typeof callback !== 'function') return rejecting(ask, args);
  rejecting(ask, args.slice(0, -1)).then(
    (result) => callback(undefined, result),
    (error) => callback(error),
  );
}

/** Whatever is thrown at once is a rejection, too. */
function rejecting(ask: (args: never[]) => Promise<unknown>, args: never[]): Promise<unknown> {
  try {
    return ask(args);
  } catch (error) {
    return Promise.reject(error);
  }
}

/** The part of `pg`'s answer to a statement that controls a transaction which Prisma's adapter reads. */
const resultOf = (command: string) => ({ command, rowCount: null, rows: [], fields: [] });

const EXECUTION = 'an execution that has ended';
const UNDONE = 'an execution that was rolled back, or may have been, and will be tried again';
const SAVEPOINT = 'a $transaction within an execution that has ended';

const executionClosed = (existing: string) =>
  new ExecutionClosedError(
    'A query came after its execution had ended; nothing was done. Await every query, and wrap what goes on by itself in outside().',
    { existing, expected: 'a query while its handler runs, or outside(() => …)' },
  );

const foreignTransaction = () =>
  new IdempotencyError(
    'A transaction that the kit does not control was begun within an execution. Use the client that createIdempotency was given, or wrap it in outside().',
    {
      existing: 'BEGIN on pool.connect(), or $transaction of another client of the same pool',
      expected: 'outside(() => …)',
    },
  );

const unknownControl = (text: string) =>
  new IdempotencyError('Prisma controls a transaction in words that the kit does not know; nothing was sent.', {
    existing: text,
    expected: 'BEGIN, COMMIT and ROLLBACK, as @prisma/adapter-pg 7 says them',
  });

const forbiddenControl = (text: string) =>
  new IdempotencyError(
    'A handler is in a transaction, which it must not end, or begin again, by SQL of its own; nothing was sent.',
    {
      existing: text,
      expected: 'COMMIT left to the kit, and an error thrown to roll back',
    },
  );

const foreignClient = () =>
  new IdempotencyError(
    'A client of another copy of Prisma was used within an execution, on its pool; which execution its queries are of could not be told.',
    { existing: 'two copies of @prisma/client', expected: 'one, or a pool of its own for the other' },
  );

const staleStatement = () =>
  new IdempotencyError('The server has forgotten a prepared statement, or would answer it in other columns.', {
    existing: 'DEALLOCATE, DISCARD or a migration since it was prepared',
    expected: 'to be tried again',
  });

const lostQuery = () =>
  new IdempotencyError('A query got no answer, and what it has done is not known; everything is rolled back.', {
    existing: 'a query that was given up, as by query_timeout, or a lost connection',
    expected: 'an answer to each',
  });
