import { warnOnce } from '../../core/environment.ts';
import type { ExecuteOptions } from '../rows.ts';
import { seen } from './ambient/ambient-client.ts';
import { type AsyncContext, outside, type PrismaTransaction, runInContext } from './async-context.ts';
import {
  isWholeClient,
  type PrismaClientLike,
  type RawQueries,
  scopeOf,
  sendStatement,
  type TransactionOptions,
} from './client.ts';
import { ExecutionTransaction } from './execution-transaction.ts';
import { isLazy, txOf } from './handler-tx.ts';
import { live } from './query-loader.ts';
import { LEVEL, type Rows, SQL_LEVELS, settingsStatement } from './statement.ts';
import { withTimeout } from './timeouts.ts';
import {
  failureResult,
  type Last,
  SILENCE_MS,
  type Stage,
  type TransactionPlan,
  type TransactionResult,
  withinDeadline,
} from './transaction-plan.ts';

/** Clients whose transactions have begun in another level than READ COMMITTED, by their own options or the database's. */
const strict = new WeakSet<PrismaClientLike>();

/** An interactive transaction of Prisma's: in it are the queries that carry its id, and no other ones. */
class InteractiveTransaction extends ExecutionTransaction {
  readonly own = undefined;
  readonly kitContext: AsyncContext = { transaction: this, isKits: true };
  #id: unknown;
  /** Queries of its `tx` that are not answered. */
  readonly #queries = new Set<Promise<unknown>>();

  constructor(client: object, db: object, outer?: InteractiveTransaction) {
    super(client, outer);
    this.#id = scopeOf(db)?.txId;
    if (this.#id !== undefined) live.add(this.#id);
  }

  /** Where the client does not say which one it is, the kit's first statement does. */
  holds(of: PrismaTransaction | undefined): boolean {
    if (of?.kind !== 'itx') return false;
    if (this.#id === undefined) {
      this.#id = of.id;
      live.add(of.id);
    }
    return of.id === this.#id;
  }

  /** Prisma would roll a query beside an open savepoint back with it: there is one at a time, and nothing beside it. */
  async enclose(begin: (run: (db: object) => unknown) => unknown, run: (tx: object) => unknown): Promise<unknown> {
    return await this.nestBehind(this.#queries, async () =>
      begin(async (db) => {
        const value = await new InteractiveTransaction(this.client, db, this).run(db, run);
        // Where one of its statements has failed, unseen, Prisma 7.10 would fail to release its savepoint, roll back to the one
        // around it, and send COMMIT where that one ends.
        await runInContext(this.kitContext, () => (db as RawQueries).$queryRawUnsafe('SELECT 1'));
        return value;
      }),
    );
  }

  override async send(query: PromiseLike<unknown>): Promise<unknown> {
    if (!isLazy(query)) return await super.send(query); // has begun already
    const alone = async () => {
      while (this.nested) await this.nested;
      return await super.send(query);
    };
    return await this.count(() => this.count(alone), this.#queries);
  }

  /** @param isCommitted false also where that is not known */
  conclude(isCommitted: boolean): void {
    this.close();
    this.leave();
    this.end(isCommitted);
    live.delete(this.#id);
    // What an extension has begun in it, with a statement of the kit's, is none.
    this.kitContext.isKits = false;
  }

  /** Runs code of the user's in it. @throws as `finish` */
  async run<T>(db: object, work: (tx: object) => T): Promise<Awaited<T>> {
    try {
      const value = await this.inside(async () => await work(txOf(db, this)));
      this.finish();
      return value;
    } catch (error) {
      this.undo();
      await this.idle(); // behind the rollback of a nested one it would be the outer one's
      throw error;
    }
  }
}

interface Inside {
  /** For statements of the kit's. */
  db: RawQueries;
  /** Runs code of the user's, with its `tx`. @throws as `ExecutionTransaction.finish` */
  handle<Tx, T>(run: (tx: Tx) => Promise<T>): Promise<T>;
  /** Nobody waits for its end any more, which is not known. */
  giveUp(): void;
}

/**
 * Runs something in an interactive transaction of Prisma's. What would write past it is refused, statements of the kit's as
 * well, where the client can be seen through.
 */
export async function transactInPrisma<T>(
  client: PrismaClientLike,
  run: (inside: Inside) => Promise<T>,
  options: TransactionOptions,
): Promise<T> {
  // A transaction of the caller's (`joinTransaction`), in which the code is already.
  if (!isWholeClient(client)) {
    return await client.$transaction((db) => run({ db, handle: (work) => work(db), giveUp: () => {} }), options);
  }
  const { original, hasOwnTransaction } = seen(client);
  let transaction: InteractiveTransaction | undefined;
  let result: { value: T } | { error: unknown } | undefined;
  let isCommitted = false;
  const begun = (db: RawQueries) => {
    transaction?.conclude(false); // an extension of the client tries again
    const current = new InteractiveTransaction(original, db);
    transaction = current;
    const handle: Inside['handle'] = (work) => current.run(db, (tx) => work(tx as never));
    return runInContext(current.kitContext, async () => {
      try {
        result = { value: await run({ db, handle, giveUp: () => current.conclude(false) }) };
      } catch (error) {
        result = { error };
        // Caught on the way, it would let Prisma send COMMIT: which is then a rollback.
        if (hasOwnTransaction) await db.$queryRawUnsafe('SELECT 1 / 0').then(undefined, () => {});
        throw error;
      }
    });
  };
  try {
    // Also within an execution in the kit's own transaction, in which it would be a savepoint.
    await outside(() => client.$transaction(begun, options));
    if (!result) throw new Error('The $transaction of the client came back before it had begun.');
    if ('error' in result) throw result.error;
    isCommitted = true;
    return result.value;
  } finally {
    transaction?.conclude(isCommitted);
  }
}

/**
 * The plan in an interactive transaction of Prisma's, each statement of ours a round trip of its own. Prisma does not look
 * whether COMMIT was one, so a commit is not proven.
 */
export async function runInteractiveTransaction<Tx, Claimed, Made extends Last, Conflict extends object>(
  client: PrismaClientLike,
  plan: TransactionPlan<Tx, Claimed, Made, Conflict>,
  how: ExecuteOptions,
): Promise<TransactionResult<Made, Conflict>> {
  const progress: Progress<Made> = { at: 'claim', hasBegun: false, isGivenUp: false };
  const { whyUnproven: why } = seen(client);
  if (why) warnOnce(client, 'transactions', () => why.message);
  // Prisma's timeout waits behind a statement that hangs, so a connection that has gone silent would hold its caller
  // and all who follow it, for ever.
  const timeoutMs = withinDeadline(how, how.timeoutMs + how.maxWaitMs + SILENCE_MS);
  const result = await withTimeout(attempt(client, plan, how, progress), timeoutMs).catch((error) => {
    progress.isGivenUp = true;
    progress.giveUp?.();
    return failureResult(error, progress.at, progress.made);
  });
  // A query that was not seen may have gone past what was rolled back.
  return why && progress.hasBegun && 'means' in result ? { kind: 'in_doubt', error: result.error } : result;
}

/** Decides what an error means: before COMMIT nothing can be committed, after it everything can. */
interface Progress<Made> {
  at: Stage;
  made?: Made | undefined;
  /** Code of the user's runs, or has run. */
  hasBegun: boolean;
  /** A try has come to COMMIT: a `$transaction` of the client's own may go on behind it, or try again. */
  hasCommitted?: boolean;
  /** Nobody waits for it any more, so that COMMIT is not to be sent. */
  isGivenUp: boolean;
  giveUp?: () => void;
}

async function attempt<Tx, Claimed, Made extends Last, Conflict extends object>(
  client: PrismaClientLike,
  plan: TransactionPlan<Tx, Claimed, Made, Conflict>,
  how: ExecuteOptions,
  progress: Progress<Made>,
): Promise<TransactionResult<Made, Conflict>> {
  // READ COMMITTED: what a statement has waited for, the next one must see. Nearly every transaction is in it from the
  // beginning, so it is looked at, and set only for clients that have been found in another one. Under a stricter level a
  // claim's wait ends in a serialization failure, and is tried again.
  const level = SQL_LEVELS[how.isolationLevel ?? 'ReadCommitted'];
  const settings = settingsStatement(how.begin);
  const setsLevel = level !== SQL_LEVELS.ReadCommitted || strict.has(client);
  let isStrict = false;
  const run = async ({ db, handle, giveUp }: Inside): Promise<{ conflict: Conflict } | { made: Made; rows: Rows }> => {
    progress.giveUp = giveUp;
    // Also where an extension of the client tries a transaction again.
    progress.at = 'claim';
    progress.made = undefined;
    if (setsLevel) await db.$queryRawUnsafe(`SET TRANSACTION ISOLATION LEVEL ${level}`);
    if (settings) await sendStatement(db, settings);
    let rows: Rows = [];
    for (const statement of plan.first(false)) rows = await sendStatement(db, statement);
    isStrict = !setsLevel && (await levelOf(db, rows)) !== 'read committed';
    if (isStrict) throw new Error('Rolled back, and begun again in the right isolation level.');
    const checked = await plan.check(rows, db);
    if ('conflict' in checked) return checked;
    progress.at = 'run';
    progress.hasBegun = true;
    const made = await handle((tx: Tx) => plan.work(tx, checked.claimed));
    progress.made = made;
    await how.beforeCommit();
    progress.at = 'completion';
    const written = await sendStatement(db, made.last);
    if (progress.isGivenUp) throw new Error('Rolled back: its time is over.');
    progress.at = 'commit';
    progress.hasCommitted = true;
    return { made, rows: written };
  };
  try {
    const ended = await transactInPrisma(client, run, { timeout: how.timeoutMs, maxWait: how.maxWaitMs });
    return 'conflict' in ended ? ended.conflict : { kind: 'committed', ...ended, isProven: false };
  } catch (error) {
    if (progress.hasCommitted && seen(client).hasOwnTransaction) return { kind: 'in_doubt', error };
    if (!isStrict) return failureResult(error, progress.at, progress.made);
    strict.add(client);
    return await attempt(client, plan, how, progress);
  }
}

/** The level that the transaction is in, where its first statement does not say it by another one. */
async function levelOf(db: RawQueries, rows: Rows): Promise<string | undefined> {
  type Shown = [{ level?: string }?];
  const [shown] = rows as Shown;
  return shown?.level ?? (await db.$queryRawUnsafe<Shown>(`SELECT ${LEVEL}`))[0]?.level;
}
