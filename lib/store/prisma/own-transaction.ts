import { assertSetUp } from '../../core/errors.ts';
import { isPromised } from '../../core/wait.ts';
import type { ExecuteOptions } from '../rows.ts';
import { StoreUnavailableError } from '../store.ts';
import { AmbientTransaction } from './ambient/ambient-transaction.ts';
import { currentContext, ownTransactionIn } from './async-context.ts';
import { queriesBy } from './client.ts';
import type { ClientPool } from './client-pool.ts';
import { isOutage, isReadOnly } from './errors.ts';
import { txOf } from './handler-tx.ts';
import { explainNoStandby, replicateStatement } from './replication.ts';
import { type Rows, rowsOf, settingsStatement } from './statement.ts';
import { withTimeout } from './timeouts.ts';
import {
  failureResult,
  type Last,
  rolledBack,
  SILENCE_MS,
  type TransactionPlan,
  type TransactionResult,
  withinDeadline,
} from './transaction-plan.ts';
import type { PoolLike } from './wire/driver.ts';
import { acquire } from './wire/pool.ts';
import { QueryQueue } from './wire/query-queue.ts';

/**
 * Runs the plan in a transaction of the kit's own, on a connection taken from the user's pool: Prisma takes each query in it for
 * one by itself, which costs it less, and the pool sends it to that connection.
 *
 * @param connections the pool that `pool` has found
 * @throws ConfigurationError within another execution
 */
export async function runOwnTransaction<Tx, Claimed, Made extends Last, Conflict extends object>(
  { pool, connections }: { pool: ClientPool; connections: PoolLike },
  plan: TransactionPlan<Tx, Claimed, Made, Conflict>,
  how: ExecuteOptions,
): Promise<TransactionResult<Made, Conflict>> {
  try {
    const ending = currentContext()?.transaction?.ending;
    if (ending) await withTimeout(ending, withinDeadline(how, how.maxWaitMs)); // an await costs even if there is nothing to wait for
  } catch (error) {
    return rolledBack(error, 'claim');
  }
  const outer = ownTransactionIn(currentContext());
  outer?.assertOpen();
  assertSetUp(!outer, 'An execution was begun within the handler of another one.', {
    existing: 'execute inside a handler',
    expected: 'execute behind it, as in afterCommit, or outside(() => …)',
  });
  let acquired: AcquiredConnection;
  try {
    acquired = await acquire(connections, withinDeadline(how, how.maxWaitMs));
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
  let at: 'claim' | 'run' = 'claim';
  const perform = async (rows: Rows) => {
    const db = queriesBy((statement) => transaction.ask(statement));
    const looked = plan.check(rows, db);
    const checked = isPromised(looked) ? await looked : looked;
    if ('conflict' in checked) return checked;
    at = 'run';
    const tx = txOf(pool.client as object, transaction) as Tx;
    const made = await transaction.inside(() => plan.work(tx, checked.claimed));
    transaction.finish();
    const waiting = how.beforeCommit();
    if (waiting) await waiting; // an await costs even if there is nothing to wait for
    return made;
  };
  try {
    const first = [...plan.first(true)];
    const settings = settingsStatement(how.begin);
    if (settings) first.unshift(settings);
    if (isReplicated) first.unshift(replicateStatement);
    const answered = connection.begin(isolationLevel, first);
    // A claim that may wait has a limit of its own, and the server's word is better than our guess.
    const rows = rowsOf(await withTimeout(answered, withinDeadline(how, how.timeoutMs + SILENCE_MS), overdue));
    const made = await withTimeout(perform(rows), deadline - performance.now(), overdue);
    if ('conflict' in made) {
      transaction.close();
      transaction.end(false);
      await rollBack(acquired, queue, { withinMs: withinDeadline(how, SILENCE_MS) });
      return made.conflict;
    }
    const withinMs = withinDeadline(how, deadline + SILENCE_MS - performance.now());
    const result = await commit(acquired, made, { isReplicated, withinMs });
    transaction.end(result.kind === 'committed');
    return result;
  } catch (error) {
    // Before anything else is awaited: what is still running in the handler must find it closed.
    transaction.close();
    transaction.end(false);
    // A server that takes no writes any more: the next connection may lead to the one that does.
    const unfit = isReadOnly(error) ? error : undefined;
    await rollBack(acquired, queue, { withinMs: withinDeadline(how, SILENCE_MS), unfit });
    if (isOutage(queue.lossError)) return { ...rolledBack(error, at), why: 'unavailable' };
    if (queue.hasStaleStatement) {
      connection.stopPreparing();
      return { ...rolledBack(error, at), why: 'conflict' };
    }
    const result = rolledBack(at === 'claim' ? explainNoStandby(error) : error, at);
    // An aborted transaction of another client, where no query of this one has failed.
    return result.means === 'aborted' && !queue.hasFailed ? { ...result, means: 'other' } : result;
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

async function commit<Made extends Last>(
  { connection, release }: AcquiredConnection,
  made: Made,
  { isReplicated, withinMs }: { isReplicated: boolean; withinMs: number },
): Promise<TransactionResult<Made, never>> {
  let answer: Awaited<ReturnType<typeof connection.commit>>;
  try {
    answer = await withTimeout(connection.commit(made.last, { isReplicated }), withinMs);
  } catch (error) {
    release(error);
    return { kind: 'in_doubt', error };
  }
  const { last, commit: ended } = answer;
  release('error' in ended ? ended.error : undefined);
  if ('error' in ended) return failureResult(ended.error, 'commit', made);
  if (ended.tag === 'COMMIT' && 'rows' in last) return { kind: 'committed', made, rows: last.rows, isProven: true };
  const error = 'error' in last ? last.error : new Error(`COMMIT was answered with ${ended.tag}.`);
  return { ...rolledBack(error, 'completion'), made };
}

type AcquiredConnection = Awaited<ReturnType<typeof acquire>>;

const overdue = () => new StoreUnavailableError('The transaction took longer than its timeoutMs, and was rolled back.');
