import type { ExecuteOptions } from '../rows.ts';
import { StoreUnavailableError } from '../store.ts';
import type { Db } from './db.ts';
import { type Last, SILENCE_MS, type TransactionPlan } from './transaction-plan.ts';

// It writes to the log and to no table, so it commits behind everything that its transaction could see.
const MARK = `SELECT pg_logical_emit_message(true, 'oncekit', '')::text AS at`;

/**
 * Waits until the synchronous standbys have all that was committed before: all that the caller has read.
 *
 * @throws StoreUnavailableError where that is not known in time, ConfigurationError for a client that cannot know
 */
export async function awaitReplication(db: Db, how: Omit<ExecuteOptions, 'beforeCommit'>): Promise<void> {
  const plan: TransactionPlan<unknown, undefined, Last, never> = {
    first: () => [],
    check: () => ({ claimed: undefined }),
    work: async () => ({ last: { text: MARK, values: [] } }),
  };
  const options = { ...how, isolationLevel: 'ReadCommitted', durability: 'replicated', beforeCommit() {} } as const;
  const ended = await db.runThroughClient(() => db.runTransaction(plan, options), {
    withinMs: how.timeoutMs + how.maxWaitMs + SILENCE_MS,
  });
  if (ended.kind === 'committed') return;
  throw new StoreUnavailableError('It is not known whether the synchronous standby has it.', {
    cause: 'error' in ended ? ended.error : undefined,
  });
}
