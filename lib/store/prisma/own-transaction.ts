import { ConfigurationError } from '../../core/errors.ts';
import { StoreUnavailableError } from '../store.ts';
import { AmbientTransaction } from './ambient/ambient-transaction.ts';
import { txOf } from './ambient/ambient-tx.ts';
import { runWithin, within } from './async-context.ts';
import type { OwnClient } from './client-pool.ts';
import { isOutage, isReadOnly } from './outage.ts';
import { queriesBy } from './renaming.ts';
import { explainedStandby, replicateStatement } from './replication.ts';
import { type Rows, renamed, rowsOf, type Statement } from './statement.ts';
import {
  endOfCommit,
  leftFor,
  type Plan,
  SILENCE_MS,
  type TransactionEnd,
  type TransactionOptions,
} from './transaction.ts';
import type { CommitAnswer } from './wire/connection.ts';
import { type Acquired, acquire, type PoolLike } from './wire/pool.ts';
import { QueryQueue } from './wire/query-queue.ts';
import { bounded } from './with-timeout.ts';

/**
 * The plan in a transaction of the kit's own, on a connection taken from the user's pool: Prisma takes each query in it for
 * one by itself, which costs it less, and the pool sends it to that connection.
 *
 * @throws ConfigurationError in ambient mode, within another execution
 */
export async function runOwn<Tx, Skipped>(
  own: OwnClient,
  pool: PoolLike,
  plan: Plan<Tx, Skipped>,
  how: TransactionOptions,
): Promise<TransactionEnd<Skipped>> {
  const outer = own.isAmbient ? within()?.ambient : undefined;
  outer?.assertOpen();
  if (outer) throw nested();
  let acquired: Acquired;
  try {
    acquired = await acquire(pool, leftFor(how, how.maxWaitMs));
  } catch (error) {
    return { kind: 'rolled_back', error, at: 'first' };
  }
  const { connection } = acquired;
  const deadline = performance.now() + how.timeoutMs;
  const isReplicated = how.durability === 'replicated';
  const queue = new QueryQueue();
  const transaction = new AmbientTransaction(own.original, pool, connection, queue);
  let at: 'first' | 'work' = 'first';
  const perform = async (rows: Rows) => {
    const next = await doWork(own, transaction, plan, rows, how);
    transaction.finish();
    const waiting = 'skip' in next ? undefined : how.beforeCommit();
    if (waiting) await waiting; // an await costs even if there is nothing to wait for
    return next;
  };
  try {
    const first = plan.first(true).map((statement) => renamed(statement, how.rename));
    if (isReplicated) first.unshift(replicateStatement);
    const answered = connection.begin(how.isolationLevel ?? 'ReadCommitted', first);
    // A claim that may wait has a limit of its own, and the server's word is better than our guess.
    const rows = rowsOf(await bounded(answered, leftFor(how, how.timeoutMs + SILENCE_MS), overdue));
    at = 'work';
    const next = await bounded(perform(rows), deadline - performance.now(), overdue);
    if (!('skip' in next)) {
      const withinMs = leftFor(how, deadline + SILENCE_MS - performance.now());
      return await commit(acquired, renamed(next.last, how.rename), { isReplicated, withinMs });
    }
    await rollBack(acquired, queue, { withinMs: leftFor(how, SILENCE_MS) });
    return { kind: 'skipped', value: next.skip };
  } catch (error) {
    // Before anything else is awaited: what is still running in the handler must find it closed.
    transaction.close();
    // A server that takes no writes any more: the next connection may lead to the one that does.
    const unfit = isReadOnly(error) ? error : undefined;
    await rollBack(acquired, queue, { withinMs: leftFor(how, SILENCE_MS), unfit });
    if (isOutage(queue.lostBy)) return { kind: 'rolled_back', error, at, why: 'unavailable' };
    if (!queue.isStale) return { kind: 'rolled_back', error: at === 'first' ? explainedStandby(error) : error, at };
    connection.forget();
    return { kind: 'rolled_back', error, at, why: 'conflict' };
  }
}

/** In ambient mode in the transaction's context, so that the client's queries find to it by their global name, too. */
function doWork<Tx, Skipped>(
  own: OwnClient,
  transaction: AmbientTransaction,
  plan: Plan<Tx, Skipped>,
  rows: Rows,
  { rename }: TransactionOptions,
): ReturnType<typeof plan.work> {
  const tx = txOf(own.client as object, transaction) as Tx;
  const db = queriesBy((statement) => transaction.ask(statement), rename);
  // Otherwise by `tx` alone: not in the transaction of an ambient execution around it either.
  return runWithin(own.isAmbient ? transaction.here : undefined, () => plan.work(tx, rows, db));
}

/** COMMIT was not sent, so whatever becomes of ROLLBACK, nothing was committed. */
async function rollBack(
  { connection, giveBack }: Acquired,
  queue: QueryQueue,
  { withinMs, unfit }: { withinMs: number; unfit?: unknown },
): Promise<void> {
  let broken = unfit;
  try {
    const rolledBack = queue.idle().then(() => connection.query({ text: 'ROLLBACK' } as never));
    await bounded(rolledBack, withinMs);
  } catch (error) {
    broken = error;
  }
  giveBack(broken);
}

async function commit<Skipped>(
  { connection, giveBack }: Acquired,
  last: Statement,
  { isReplicated, withinMs }: { isReplicated: boolean; withinMs: number },
): Promise<TransactionEnd<Skipped>> {
  let answer: CommitAnswer;
  try {
    answer = await bounded(connection.commit(last, { isReplicated }), withinMs);
  } catch (error) {
    giveBack(error);
    return { kind: 'in_doubt', error };
  }
  giveBack('error' in answer.commit ? answer.commit.error : undefined);
  return endOfCommit(answer);
}

const overdue = () => new StoreUnavailableError('The transaction took longer than its timeoutMs, and was rolled back.');

const nested = () =>
  new ConfigurationError('An execution was begun within the handler of another one.', {
    existing: 'execute inside a handler',
    expected: 'execute behind it, as in afterCommit, or outside(() => …)',
  });
