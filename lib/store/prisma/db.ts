import { ConfigurationError } from '../../core/errors.ts';
import type { ExecuteOptions, RolledBack } from '../rows.ts';
import { type SchemaPart, StoreUnavailableError } from '../store.ts';
import { seen } from './ambient/ambient-client.ts';
import { outside, runInContext } from './async-context.ts';
import { isWholeClient, type PrismaClientLike, primaryOf, type RawQueries } from './client.ts';
import { ClientPool } from './client-pool.ts';
import { isMissingSchema, isOutage, outageError, serverMessage, sqlState, violatedConstraint } from './errors.ts';
import { runInteractiveTransaction } from './interactive-transaction.ts';
import { explainSchemaError, readSchema } from './keys/schema.ts';
import { runOwnTransaction } from './own-transaction.ts';
import { TableNames, type Tables } from './tables.ts';
import { QUESTION_MS, START_MS, timeoutError, withTimeout } from './timeouts.ts';
import {
  failureResult,
  type Last,
  type TransactionPlan,
  type TransactionResult,
  withinDeadline,
} from './transaction-plan.ts';
import { clientOn } from './wire/connection.ts';
import type { PoolLike } from './wire/driver.ts';
import { CheckedOutClients, withConnection } from './wire/pool.ts';

/** How long the database may take to describe its tables after a statement has failed, in milliseconds. */
const EXPLAIN_MS = 2000;

export interface DbOptions {
  tables?: Tables | undefined;
  transaction?: 'interactive' | undefined;
  /** Whose tables it asks. */
  part?: SchemaPart;
}

export interface AskOptions {
  /** How long it may take, in milliseconds; the first one `START_MS` longer. */
  withinMs?: number;
  /** A second answer does no harm: asked again where the pool's connection had ended, unnoticed, before the question. */
  isRepeatable?: boolean;
}

/** Asks the database something. Its statements are sent one after the other. */
type Question<T> = (db: PrismaClientLike) => Promise<T>;

/**
 * The kit's only way to the database: gives statements the tables' own names, reads the primary, and bounds every wait.
 *
 * A question outside a transaction never waits without an end, neither for a connection nor for an answer. A connection of
 * the kit's pool that has not answered in time is destroyed, so that nobody gets it again. Prisma's own connections are
 * unknown here, so a silent one of them stays in its pool.
 */
export class Db {
  /** For transactions and connections of the kit's own. None: all of it goes through Prisma. */
  readonly pool: ClientPool | undefined;
  readonly #client: PrismaClientLike;
  readonly #names: TableNames;
  readonly #part: SchemaPart;
  #latest = Number.POSITIVE_INFINITY;

  /**
   * @param client the user's own
   * @param of one with the same pool
   */
  constructor(client: PrismaClientLike, { tables, transaction, part = 'keys' }: DbOptions = {}, of?: Db) {
    this.#client = client;
    this.#part = part;
    this.#names = of ? of.#names : new TableNames(client, tables);
    this.pool = of ? of.pool : transaction === 'interactive' ? undefined : new ClientPool(client, this.#names, part);
  }

  /** @param deadline of all questions, in milliseconds of `performance.now()` */
  until(deadline: number): Db {
    const db = new Db(this.#client, { part: this.#part }, this);
    db.#latest = Math.min(deadline, this.#latest);
    return db;
  }

  /**
   * Asks outside of any transaction of the user's.
   *
   * @throws StoreUnavailableError where the database cannot be asked, takes no writes, or has not answered in time (C6)
   * @throws ConfigurationError where a table or a column is missing, or a right
   */
  async run<T>(question: Question<T>, { withinMs = QUESTION_MS, isRepeatable = false }: AskOptions = {}): Promise<T> {
    return await this.#explaining(withinMs, async (deadline) => {
      return await this.#askOnce(question, deadline).catch((error) => {
        if (!isRepeatable || !isOutage(error) || deadline.left() === 0) throw error;
        return this.#askOnce(question, deadline);
      });
    });
  }

  /**
   * The same through the user's own client, as it is: where code of theirs takes part, or the client itself is in question. On a
   * pool of Prisma's own, a connection that has not answered in time stays in use.
   */
  async runThroughClient<T>(question: Question<T>, { withinMs = QUESTION_MS }: AskOptions = {}): Promise<T> {
    return await this.#explaining(withinMs, async (deadline) => {
      const checkedOut = new CheckedOutClients();
      const ask = () => question(this.#client);
      const asked = isWholeClient(this.#client) ? runInContext({ checkedOut }, ask) : ask();
      return await deadline.bound(asked).catch((error) => {
        if (isOutage(error)) checkedOut.destroy(error);
        throw error;
      });
    });
  }

  /**
   * Runs the plan in a transaction of the kit's own on the client's pool, in which every query of the client is, or in an
   * interactive one of Prisma's, in which only those of `tx` are, where the pool is not the kit's.
   *
   * @throws ConfigurationError within a transaction of the kit's own, where COMMIT is to be replicated for a client that
   *   cannot have such transactions, where `how.begin` is for a transaction of the caller's, and where its role is refused
   */
  async runTransaction<Tx, Claimed, Made extends Last, Conflict extends object>(
    plan: TransactionPlan<Tx, Claimed, Made, Conflict>,
    how: ExecuteOptions,
  ): Promise<TransactionResult<Made, Conflict>> {
    let connections: PoolLike | undefined;
    const { pool } = this;
    try {
      connections =
        pool && (pool.current ?? (await withTimeout(pool.find(how), withinDeadline(how, Number.POSITIVE_INFINITY))));
    } catch (error) {
      if (error instanceof ConfigurationError) throw error;
      return failureResult(error, 'claim');
    }
    if (how.durability === 'replicated' && !connections) throw needsOwnTransaction();
    if (how.begin && !isWholeClient(this.#client)) throw joined();
    try {
      const renamed = this.#names.plan(plan);
      const ended = await (pool && connections
        ? runOwnTransaction({ pool, connections }, renamed, how)
        : runInteractiveTransaction(this.#client, renamed, how));
      const refused = 'means' in ended && refusedRole(ended, how);
      if (refused) throw refused;
      return ended;
    } finally {
      started.add(this.#client);
    }
  }

  /** The reason why a handler is never proven to be rolled back: it is not seen where each query of the client goes. */
  get whyUnproven(): ConfigurationError | undefined {
    return seen(this.#client).whyUnproven;
  }

  /** See `Store.violatedConstraint`. */
  violatedConstraint(error: unknown): string | undefined {
    return violatedConstraint(error, (table) => this.#names.isKits(table));
  }

  /** For statements of the kit's on a client, or in a transaction, of the caller's. Its errors are the caller's, too. */
  queriesOn(theirs: unknown): RawQueries {
    return this.#names.queries(theirs as RawQueries);
  }

  /** Throws the explanation of an error, for callers that otherwise return it: a table or a column is missing. */
  async throwMissingSchema(error: unknown): Promise<void> {
    if (isMissingSchema(error)) throw await this.#explained(error);
  }

  async #askOnce<T>(question: Question<T>, deadline: Deadline): Promise<T> {
    const pool = this.pool && (await this.pool.findForQuestions(deadline.left()));
    const answered =
      pool &&
      (await withConnection(pool, deadline.left(), async (connection) => {
        if (!connection.takesPipelines) return undefined;
        return { answer: await deadline.bound(question(this.#names.client(clientOn(connection)))) };
      }));
    if (answered) return answered.answer;
    return await deadline.bound(question(this.#names.client(primaryOf(this.#client))));
  }

  /** Outside of a handler's transaction: nothing that the kit asks for itself is part of it, unless it is joined to that. */
  async #explaining<T>(withinMs: number, ask: (deadline: Deadline) => Promise<T>): Promise<T> {
    const began = performance.now();
    // The engine of whoever has a transaction (`joinTransaction`) runs as well.
    const hasStarted = started.has(this.#client) || !isWholeClient(this.#client);
    const ownMs = hasStarted ? withinMs : withinMs + START_MS;
    const deadline = deadlineIn(Math.min(ownMs, this.#latest - began));
    if (deadline.left() === 0) throw new StoreUnavailableError('The time was over before the database was asked.');
    try {
      return await (isWholeClient(this.#client) ? outside(() => ask(deadline)) : ask(deadline));
    } catch (error) {
      throw isOutage(error) ? outageError(error, performance.now() - began) : await this.#explained(error);
    } finally {
      started.add(this.#client);
    }
  }

  #explained(error: unknown): Promise<unknown> {
    const read = () => outside(() => this.#askOnce(readSchema, deadlineIn(EXPLAIN_MS)));
    return explainSchemaError(error, read, this.#part);
  }
}

/** The error of a client whose transactions are Prisma's: it cannot hear the warning. */
const needsOwnTransaction = () =>
  new ConfigurationError(
    "The operation says durability: 'replicated', which needs transactions of the kit's own: in Prisma's nobody hears that a COMMIT was not replicated.",
    { existing: "Prisma's interactive transactions", expected: 'a client on oncekit/adapter-pg' },
  );

const joined = () =>
  new ConfigurationError('A transaction that was joined has begun already: what `begin` sets would stay in it.', {
    existing: 'joinTransaction, and `begin`',
    expected: 'a client',
  });

/** The role is not there, it or the client's own user lacks a right, or it does not see the kit's tables. */
const REFUSED = ['22023', '42501', '42P01'];

/** The reason why a transaction that runs as a role was rolled back by a statement of the kit's. Undefined: another one. */
function refusedRole({ error, at }: RolledBack, { begin = [] }: ExecuteOptions): ConfigurationError | undefined {
  const hasRole = begin.some(([name]) => name === 'role');
  if (!hasRole || at === 'run' || !REFUSED.includes(sqlState(error) ?? '')) return undefined;
  return new ConfigurationError(
    "The database refuses a statement of the kit's as the role that `begin` says, and everything was rolled back. See docs/row-level-security.md; npx oncekit doctor says whether its tables are there.",
    {
      existing: serverMessage(error),
      expected: "the client's own user as a member of the role, and the page's GRANTs for the role",
      cause: error,
    },
  );
}

/** Clients of which a question, or a transaction, has come to its end: their engine runs. */
const started = new WeakSet<PrismaClientLike>();

/** The end of a question, with all that it waits for. */
type Deadline = ReturnType<typeof deadlineIn>;

function deadlineIn(ms: number) {
  const at = performance.now() + ms;
  const left = () => Math.max(0, at - performance.now());
  /** The answer, or an error that says how long the question was given in all. */
  const bound = <T>(answer: Promise<T>) => withTimeout(answer, left(), () => timeoutError(ms));
  return { left, bound };
}

/** A function of the port as a question: it is given the database first, and what the port says behind it. */
export type Asked<Port, Name extends keyof Port> = Port[Name] extends (...args: infer Args) => infer Answer
  ? (db: RawQueries, ...args: Args) => Answer
  : never;

type Questions = Record<string, (db: PrismaClientLike, ...args: never[]) => Promise<unknown>>;

type Asking<Q extends Questions> = {
  [Name in keyof Q]: Q[Name] extends (db: PrismaClientLike, ...args: infer Args) => infer Answer
    ? (...args: Args) => Answer
    : never;
};

/**
 * Makes functions of the port of questions, by their names there: they are asked outside of any transaction of the user's. Each file
 * of statements exports its own in one table.
 */
export const askingBy =
  (db: Db) =>
  <Q extends Questions>(questions: Q, options?: AskOptions) =>
    Object.fromEntries(
      Object.entries(questions).map(([name, question]) => [
        name,
        (...args: never[]) => db.run((queries) => question(queries, ...args), options),
      ]),
    ) as Asking<Q>;
