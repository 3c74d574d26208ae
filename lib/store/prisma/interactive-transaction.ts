import type { ExecuteOptions } from '../rows.ts';
import { outside } from './async-context.ts';
import type { Stage } from './classify.ts';
import { type PrismaClientLike, type RawQueries, send } from './client.ts';
import { originalOf } from './renaming.ts';
import { LEVEL, type Rows, SQL_LEVELS } from './statement.ts';
import { failureOutcome, type Plan, SILENCE_MS, type TransactionOutcome, timeLeft } from './transaction.ts';
import { withTimeout } from './with-timeout.ts';

/** Clients whose transactions have begun in another level than READ COMMITTED, by their own options or the database's. */
const strict = new WeakSet<PrismaClientLike>();

/**
 * The plan in an interactive transaction of Prisma's, each statement of ours a round trip of its own. Prisma does not look
 * whether COMMIT was one, so a commit is not proven.
 */
export async function runInteractiveTransaction<Tx, Skipped>(
  client: PrismaClientLike,
  plan: Plan<Tx, Skipped>,
  how: ExecuteOptions,
): Promise<TransactionOutcome<Skipped>> {
  const progress: Progress = { at: 'claim', isGivenUp: false };
  // Prisma's timeout waits behind a statement that hangs, so a connection that has gone silent would hold its caller
  // and all who follow it, for ever.
  try {
    const timeoutMs = timeLeft(how, how.timeoutMs + how.maxWaitMs + SILENCE_MS);
    return await withTimeout(attempt(client, plan, how, progress), timeoutMs);
  } catch (error) {
    progress.isGivenUp = true;
    return failureOutcome(error, progress.at);
  }
}

/** Decides what an error means: before COMMIT nothing can be committed, after it everything can. */
interface Progress {
  at: Stage;
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
  const run = async (db: RawQueries) => {
    progress.at = 'claim'; // also where an extension of the client tries a transaction again
    if (setsLevel) await db.$queryRawUnsafe(`SET TRANSACTION ISOLATION LEVEL ${level}`);
    let rows: Rows = [];
    for (const statement of plan.first(false)) rows = await send(db, statement);
    isStrict = !setsLevel && (await levelOf(db, rows)) !== 'read committed';
    if (isStrict) throw new Error('Rolled back, and begun again in the right isolation level.');
    progress.at = 'work';
    const next = await plan.work(originalOf<Tx>(db), rows, db);
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
    // Also within an execution in the kit's own transaction, in which it would be a savepoint.
    await outside(() => client.$transaction(run, { timeout: how.timeoutMs, maxWait: how.maxWaitMs }));
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
