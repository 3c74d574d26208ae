import { StoreUnavailableError } from '../store.ts';
import { runTransaction } from './run-transaction.ts';
import { type Plan, SILENCE_MS, type TransactionOptions } from './transaction.ts';

// It writes to the log and to no table, so it commits behind everything that its transaction could see.
const MARK = `SELECT pg_logical_emit_message(true, 'oncekit', '')::text AS at`;

/**
 * Waits until the synchronous standbys have all that was committed before: all that the caller has read.
 *
 * @throws StoreUnavailableError where that is not known in time, ConfigurationError for a client that cannot know
 */
export async function awaitReplication(how: TransactionOptions): Promise<void> {
  const plan: Plan<unknown, never> = {
    first: () => [],
    work: async () => ({ last: { text: MARK, values: [] } }),
  };
  const replicated = { ...how, isolationLevel: 'ReadCommitted', durability: 'replicated' } as const;
  const ended = await how.gate.askThroughClient((client) => runTransaction(client, plan, replicated), {
    withinMs: how.timeoutMs + how.maxWaitMs + SILENCE_MS,
  });
  if (ended.kind === 'committed') return;
  throw new StoreUnavailableError('It is not known whether the synchronous standby has it.', {
    cause: 'error' in ended ? ended.error : undefined,
  });
}
