import { StoreUnavailableError } from '../store.ts';
import type { PrismaClientLike } from './client.ts';
import { runTransaction } from './run-transaction.ts';
import type { Plan, TransactionOptions } from './transaction.ts';

// It writes to the log and to no table, so it commits behind everything that its transaction could see.
const MARK = `SELECT pg_logical_emit_message(true, 'oncekit', '')::text AS at`;

/**
 * Waits until the synchronous standbys have all that was committed before: all that the caller has read.
 *
 * @throws StoreUnavailableError where that is not known in time, ConfigurationError for a client that cannot know
 */
export async function awaitReplication(client: PrismaClientLike, how: TransactionOptions): Promise<void> {
  const plan: Plan<unknown, never> = {
    first: () => [],
    work: async () => ({ last: { text: MARK, values: [] } }),
  };
  const ended = await runTransaction(client, plan, {
    ...how,
    isolationLevel: 'ReadCommitted',
    durability: 'replicated',
  });
  if (ended.kind === 'committed') return;
  throw new StoreUnavailableError('It is not known whether the synchronous standby has it.', {
    cause: 'error' in ended ? ended.error : undefined,
  });
}
