import { IdempotencyError } from '../../../core/errors.ts';
import { moment } from '../../../core/wait.ts';
import type { AsyncContext, OwnContextTransaction } from '../async-context.ts';
import { driverError } from '../errors.ts';
import { ExecutionTransaction } from '../execution-transaction.ts';
import { type Rows, rowsOf, type Statement } from '../statement.ts';
import type { TrackedConnection } from '../wire/connection.ts';
import type { QueryQueue } from '../wire/query-queue.ts';

/** A transaction that was begun on a connection of its own. */
type BegunTransaction = OwnContextTransaction['begun'] & { connection: TrackedConnection; queue: QueryQueue };

/**
 * One transaction on a connection of its own, or a savepoint in one, that queries find by the async context they are made
 * in. Once it is over nothing gets onto the connection any more, whoever still asks.
 */
export class AmbientTransaction extends ExecutionTransaction implements OwnContextTransaction {
  readonly own = this;
  /** The context of a query of it that Prisma is executing. */
  readonly queryContext: AsyncContext = { transaction: this, isPrismaQuery: true };
  readonly begun: BegunTransaction;
  readonly #depth: number;
  /** Queries of several statements that have not sent their last one, each until it has. */
  readonly #unfinished = new Set<Promise<void>>();

  /** @param begun the transaction on its connection; of a savepoint the same, and what it is in */
  constructor(client: object, begun: BegunTransaction, outer?: AmbientTransaction) {
    super(client, outer);
    this.begun = begun;
    this.#depth = outer ? outer.#depth + 1 : 0;
  }

  /** Prisma knows nothing of it. */
  holds(): boolean {
    return false;
  }

  /** Answers the pool's `query` within it. */
  query({ isPrismaQuery }: AsyncContext, args: never[]): unknown {
    return answerAs(args, (asked) => {
      // It has not come by a loader that we pass by: it may be another execution's, of the same tick.
      if (!isPrismaQuery && isOfPrisma(asked[0])) throw foreignClient();
      return this.#sendUsers(asked);
    });
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
      const client = { query, release: beginIn(this.#unfinished), on: () => client, removeListener: () => client };
      return client;
    });
  }

  /** Runs it in a savepoint, to which everything is rolled back where it throws. */
  async nest<T>(run: (nested: AmbientTransaction) => Promise<T>): Promise<T> {
    // Between two statements of one query, a savepoint would hold the first and not the second.
    return await this.nestBehind(this.#unfinished, () =>
      this.#inSavepoint(new AmbientTransaction(this.client, this.begun, this), run),
    );
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
      nested.undo();
      // Where even that fails, nothing of the whole transaction is committed.
      await this.#control(`ROLLBACK TO SAVEPOINT ${savepoint}`)
        .then(() => this.#control(`RELEASE SAVEPOINT ${savepoint}`))
        .catch(() => {
          this.begun.queue.isLost = true;
        });
      throw error;
    }
  }

  protected override hasUnanswered(): boolean {
    const { queue } = this.begun;
    if (queue.isLost) throw lostQuery();
    if (queue.hasStaleStatement) throw staleStatement();
    return super.hasUnanswered() || this.#unfinished.size > 0 || queue.pending > 0;
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
    return this.nested ? this.#sendBehind(query, isKept) : this.begun.queue.send(query, this.#mayGo, isKept);
  }

  /** Sends a query of a branch beside an open savepoint: on the wire now, it would be rolled back with what it is no part of. */
  async #sendBehind(query: () => Promise<unknown>, isKept: boolean): Promise<unknown> {
    while (this.nested) await this.nested;
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

/** Something that lasts. @returns what ends it */
function beginIn(going: Set<Promise<void>>): () => void {
  const { reached, reach } = moment();
  going.add(reached);
  return () => {
    going.delete(reached);
    reach();
  };
}

/** Answers as `pg` does: by a promise, or by the callback where there is one. */
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
    { existing: text, expected: 'COMMIT left to the kit, and an error thrown to roll back' },
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
