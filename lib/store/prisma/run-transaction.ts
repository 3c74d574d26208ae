import { ConfigurationError } from '../../core/errors.ts';
import type { PrismaClientLike } from './client.ts';
import { runInteractive } from './interactive-transaction.ts';
import { runOwn } from './own-transaction.ts';
import { needsOwnTransaction } from './replication.ts';
import { leftFor, type Plan, type TransactionEnd, type TransactionOptions } from './transaction.ts';
import type { PoolLike } from './wire/pool.ts';
import { bounded } from './with-timeout.ts';

/**
 * Runs it in a transaction of the kit's own on the client's pool, or in an interactive one of Prisma's where the pool is
 * not ours.
 *
 * @param client with the kit's names for tables of other names
 * @throws ConfigurationError in ambient mode, and where COMMIT is to be replicated, for a client that cannot have such
 *   transactions
 */
export async function runTransaction<Tx, Skipped>(
  client: PrismaClientLike,
  plan: Plan<Tx, Skipped>,
  how: TransactionOptions,
): Promise<TransactionEnd<Skipped>> {
  const { own } = how;
  let pool: PoolLike | undefined;
  try {
    pool = own && (own.pool ?? (await bounded(own.findPool(how), leftFor(how, Number.POSITIVE_INFINITY))));
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    return { kind: 'rolled_back', error, at: 'first' };
  }
  if (how.durability === 'replicated' && !pool) throw needsOwnTransaction();
  return await (own && pool ? runOwn(own, pool, plan, how) : runInteractive(client, plan, how));
}
