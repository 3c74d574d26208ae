import { ConfigurationError } from '../../core/errors.ts';
import type { ExecuteOptions } from '../rows.ts';
import { StoreUnavailableError } from '../store.ts';
import { AmbientTransaction } from './ambient/ambient-transaction.ts';
import { currentContext, ownTransactionIn, runInContext } from './async-context.ts';
import type { ClientPool } from './client-pool.ts';
import { txOf } from './handler-tx.ts';
import { isOutage, isReadOnly } from './outage.ts';
import { queriesBy } from './renaming.ts';
import { explainNoStandby, replicateStatement } from './replication.ts';
import { settingsStatement } from './settings.ts';
import { type Rows, renamed, rowsOf, type Statement } from './statement.ts';
import type { Rename } from './tables.ts';
import { commitOutcome, type Plan, rolledBack, SILENCE_MS, type TransactionOutcome, timeLeft } from './transaction.ts';
import type { CommitAnswer } from './wire/connection.ts';
import type { PoolLike } from './wire/driver.ts';
import { type AcquiredConnection, acquire } from './wire/pool.ts';
import { QueryQueue } from './wire/query-queue.ts';
import { withTimeout } from './with-timeout.ts';

interface OwnConnections {
  pool: ClientPool;
  /** The pool that `pool` has found. */
  connections: PoolLike;
  rename: Rename | undefined;
}

/**
 * Runs the plan in a transaction of the kit's own, on a connection taken from the user's pool: Prisma takes each query in it for
 * one by itself, which costs it less, and the pool sends it to that connection.
 *
 * @throws ConfigurationError within another execution
 */
export async function runOwnTransaction<Tx, Skipped>(
  { pool, connections, rename }: OwnConnections,
  plan: Plan<Tx, Skipped>,
  how: ExecuteOptions,
): Promise<TransactionOutcome<Skipped>> {
  try {
    const ending = currentContext()?.transaction?.ending;
    if (ending) await withTimeout(ending, timeLeft(how, how.maxWaitMs)); // an await costs even if there is nothing to wait for
  } catch (error) {
    return rolledBack(error, 'claim');
  }
  const outer = ownTransactionIn(currentContext());
  outer?.assertOpen();
  if (outer) throw nested();
  let acquired: AcquiredConnection;
  try {
    acquired = await acquire(connections, timeLeft(how, how.maxWaitMs));
  } catch (error) {
    return rolledBack(error, 'claim');
  }
  const { connection } = acquired;
  const deadline = performance.now() + how.timeoutMs;
  const isReplicated = how.durability === 'replicated';
  const queue = new QueryQueue();
  const isolationLevel = how.isolationLevel ?? 'ReadCommitted';
  const begun = { pool: connections, isolationLevel, connection, queue };
  const transaction = new AmbientTransaction(pool.original, begun);
  let at: 'claim' | 'work' = 'claim';
  const perform = async (rows: Rows) => {
    const next = await doWork({ pool, rename }, transaction, plan, rows);
    transaction.finish();
    const waiting = 'skip' in next ? undefined : how.beforeCommit();
    if (waiting) await waiting; // an await costs even if there is nothing to wait for
    return next;
  };
  try {
    const first = plan.first(true).map((statement) => renamed(statement, rename));
    const settings = settingsStatement(how.begin);
    if (settings) first.unshift(settings);
    if (isReplicated) first.unshift(replicateStatement);
    const answered = connection.begin(isolationLevel, first);
    // A claim that may wait has a limit of its own, and the server's word is better than our guess.
    const rows = rowsOf(await withTimeout(answered, timeLeft(how, how.timeoutMs + SILENCE_MS), overdue));
    at = 'work';
    const next = await withTimeout(perform(rows), deadline - performance.now(), overdue);
    if (!('skip' in next)) {
      const withinMs = timeLeft(how, deadline + SILENCE_MS - performance.now());
      const outcome = await commit<Skipped>(acquired, renamed(next.last, rename), { isReplicated, withinMs });
      transaction.end(outcome.kind === 'committed');
      return outcome;
    }
    transaction.end(false);
    await rollBack(acquired, queue, { withinMs: timeLeft(how, SILENCE_MS) });
    return { kind: 'skipped', value: next.skip };
  } catch (error) {
    // Before anything else is awaited: what is still running in the handler must find it closed.
    transaction.close();
    transaction.end(false);
    // A server that takes no writes any more: the next connection may lead to the one that does.
    const unfit = isReadOnly(error) ? error : undefined;
    await rollBack(acquired, queue, { withinMs: timeLeft(how, SILENCE_MS), unfit });
    if (isOutage(queue.lossError)) return { ...rolledBack(error, at), why: 'unavailable' };
    if (queue.hasStaleStatement) {
      connection.stopPreparing();
      return { ...rolledBack(error, at), why: 'conflict' };
    }
    const outcome = rolledBack(at === 'claim' ? explainNoStandby(error) : error, at);
    // An aborted transaction of another client, where no query of this one has failed.
    return outcome.means === 'aborted' && !queue.hasFailed ? { ...outcome, means: 'other' } : outcome;
  }
}

/** In the transaction's context, so that the client's queries find to it by whatever name they are asked. */
async function doWork<Tx, Skipped>(
  { pool, rename }: Pick<OwnConnections, 'pool' | 'rename'>,
  transaction: AmbientTransaction,
  plan: Plan<Tx, Skipped>,
  rows: Rows,
): ReturnType<typeof plan.work> {
  const tx = txOf(pool.client as object, transaction) as Tx;
  const db = queriesBy((statement) => transaction.ask(statement), rename);
  try {
    return await runInContext(transaction.context, () => plan.work(tx, rows, db));
  } finally {
    transaction.leave();
  }
}

/** COMMIT was not sent, so whatever becomes of ROLLBACK, nothing was committed. */
async function rollBack(
  { connection, release }: AcquiredConnection,
  queue: QueryQueue,
  { withinMs, unfit }: { withinMs: number; unfit?: unknown },
): Promise<void> {
  let broken = unfit;
  try {
    const rolledBack = queue.idle().then(() => connection.query({ text: 'ROLLBACK' } as never));
    await withTimeout(rolledBack, withinMs);
  } catch (error) {
    broken = error;
  }
  release(broken);
}

async function commit<Skipped>(
  { connection, release }: AcquiredConnection,
  last: Statement,
  { isReplicated, withinMs }: { isReplicated: boolean; withinMs: number },
): Promise<TransactionOutcome<Skipped>> {
  let answer: CommitAnswer;
  try {
    answer = await withTimeout(connection.commit(last, { isReplicated }), withinMs);
  } catch (error) {
    release(error);
    return { kind: 'in_doubt', error };
  }
  release('error' in answer.commit ? answer.commit.error : undefined);
  return commitOutcome(answer);
}

const overdue = () => new StoreUnavailableError('The transaction took longer than its timeoutMs, and was rolled back.');

const nested = () =>
  new ConfigurationError('An execution was begun within the handler of another one.', {
    existing: 'execute inside a handler',
    expected: 'execute behind it, as in afterCommit, or outside(() => …)',
  });
