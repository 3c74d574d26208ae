import { warnOnce } from '../../core/development.ts';
import type { ExecuteOptions } from '../rows.ts';
import { seen } from './ambient/ambient-client.ts';
import { type AsyncContext, outside, type PrismaTransaction, runInContext } from './async-context.ts';
import type { Stage } from './classify.ts';
import { type PrismaClientLike, type RawQueries, scopeOf, send, type TransactionOptions } from './client.ts';
import { ExecutionTransaction } from './execution-transaction.ts';
import { txOf } from './handler-tx.ts';
import { originalOf } from './renaming.ts';
import { LEVEL, type Rows, SQL_LEVELS } from './statement.ts';
import { failureOutcome, type Plan, SILENCE_MS, type TransactionOutcome, timeLeft } from './transaction.ts';
import { withTimeout } from './with-timeout.ts';

/** Clients whose transactions have begun in another level than READ COMMITTED, by their own options or the database's. */
const strict = new WeakSet<PrismaClientLike>();

/** An interactive transaction of Prisma's: in it are the queries that carry its id, and no other ones. */
class InteractiveTransaction extends ExecutionTransaction {
  readonly own = undefined;
  readonly kitContext: AsyncContext = { transaction: this, isKits: true };
  #id: unknown;

  constructor(client: object, db: RawQueries) {
    super(client);
    this.#id = scopeOf(db)?.txId;
  }

  /** Where the client does not say which one it is, the kit's first statement does. */
  holds(of: PrismaTransaction | undefined): boolean {
    if (of?.kind !== 'itx') return false;
    this.#id ??= of.id;
    return of.id === this.#id;
  }
}

interface Inside {
  /** For statements of the kit's. */
  db: RawQueries;
  /** Runs code of the user's, with its `tx`. @throws as `ExecutionTransaction.finish` */
  handle<Tx, T>(run: (tx: Tx) => Promise<T>): Promise<T>;
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
  const { original } = seen(originalOf(client));
  let transaction: InteractiveTransaction | undefined;
  let [isThrough, isCommitted] = [false, false];
  const begun = (db: RawQueries) => {
    transaction?.end(false); // an extension of the client tries again
    isThrough = false;
    const current = new InteractiveTransaction(original, originalOf(db));
    transaction = current;
    const handle: Inside['handle'] = async (work) => {
      const tx = txOf(originalOf<object>(db), current) as never;
      try {
        const value = await runInContext(current.context, async () => await work(tx));
        current.finish();
        return value;
      } finally {
        current.leave();
        current.close();
      }
    };
    return runInContext(current.kitContext, async () => {
      const value = await run({ db, handle });
      isThrough = true;
      return value;
    });
  };
  try {
    // Also within an execution in the kit's own transaction, in which it would be a savepoint.
    const value = await outside(() => client.$transaction(begun, options));
    isCommitted = isThrough; // an extension of the client may have swallowed an error
    return value;
  } finally {
    transaction?.end(isCommitted);
  }
}

/**
 * The plan in an interactive transaction of Prisma's, each statement of ours a round trip of its own. Prisma does not look
 * whether COMMIT was one, so a commit is not proven.
 */
export async function runInteractiveTransaction<Tx, Skipped>(
  client: PrismaClientLike,
  plan: Plan<Tx, Skipped>,
  how: ExecuteOptions,
): Promise<TransactionOutcome<Skipped>> {
  const progress: Progress = { at: 'claim', hasBegun: false, isGivenUp: false };
  const { whyUnproven: why } = seen(originalOf(client));
  if (why) warnOnce(originalOf(client), 'transactions', () => why.message);
  // Prisma's timeout waits behind a statement that hangs, so a connection that has gone silent would hold its caller
  // and all who follow it, for ever.
  const timeoutMs = timeLeft(how, how.timeoutMs + how.maxWaitMs + SILENCE_MS);
  const outcome = await withTimeout(attempt(client, plan, how, progress), timeoutMs).catch((error) => {
    progress.isGivenUp = true;
    return failureOutcome<Skipped>(error, progress.at);
  });
  // A query that was not seen may have gone past what was rolled back.
  return why && progress.hasBegun && outcome.kind === 'rolled_back'
    ? { kind: 'in_doubt', error: outcome.error }
    : outcome;
}

/** Decides what an error means: before COMMIT nothing can be committed, after it everything can. */
interface Progress {
  at: Stage;
  /** Code of the user's runs, or has run. */
  hasBegun: boolean;
  /** Nobody waits for it any more, so that COMMIT is not to be sent. */
  isGivenUp: boolean;
}

async function attempt<Tx, Skipped>(
  client: PrismaClientLike,
  plan: Plan<Tx, Skipped>,
  how: ExecuteOptions,
  progress: Progress,
): Promise<TransactionOutcome<Skipped>> {
  // READ COMMITTED: what a statement has waited for, the next one must see. Nearly every transaction is in it from the
  // beginning, so it is looked at, and set only for clients that have been found in another one. Under a stricter level a
  // claim's wait ends in a serialization failure, and is tried again.
  const level = SQL_LEVELS[how.isolationLevel ?? 'ReadCommitted'];
  const setsLevel = level !== SQL_LEVELS.ReadCommitted || strict.has(client);
  let skipped: { skip: Skipped } | undefined;
  let last: Rows = [];
  let isStrict = false;
  const run = async ({ db, handle }: Inside) => {
    progress.at = 'claim'; // also where an extension of the client tries a transaction again
    if (setsLevel) await db.$queryRawUnsafe(`SET TRANSACTION ISOLATION LEVEL ${level}`);
    let rows: Rows = [];
    for (const statement of plan.first(false)) rows = await send(db, statement);
    isStrict = !setsLevel && (await levelOf(db, rows)) !== 'read committed';
    if (isStrict) throw new Error('Rolled back, and begun again in the right isolation level.');
    progress.at = 'work';
    progress.hasBegun = true;
    const next = await handle((tx: Tx) => plan.work(tx, rows, db));
    if ('skip' in next) {
      skipped = next;
      return;
    }
    await how.beforeCommit();
    progress.at = 'completion';
    last = await send(db, next.last);
    if (progress.isGivenUp) throw new Error('Rolled back: its time is over.');
    progress.at = 'commit';
  };
  try {
    await transactInPrisma(client, run, { timeout: how.timeoutMs, maxWait: how.maxWaitMs });
  } catch (error) {
    if (!isStrict) return failureOutcome(error, progress.at);
    strict.add(client);
    return await attempt(client, plan, how, progress);
  }
  if (skipped) return { kind: 'skipped', value: skipped.skip };
  if (progress.at !== 'commit')
    return { kind: 'in_doubt', error: new Error('The client has swallowed an error, and committed.') };
  return { kind: 'committed', last, isProven: false };
}

/** The level that the transaction is in, where its first statement does not say it by another one. */
async function levelOf(db: RawQueries, rows: Rows): Promise<string | undefined> {
  type Shown = [{ level?: string }?];
  const [shown] = rows as Shown;
  return shown?.level ?? (await db.$queryRawUnsafe<Shown>(`SELECT ${LEVEL}`))[0]?.level;
}
