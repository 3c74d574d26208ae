import { createHash } from 'node:crypto';
import { lengthPrefixed } from '../../core/scope.ts';
import type { RawQueries } from './client.ts';

const LOCK = 'SELECT pg_advisory_xact_lock($1::bigint) IS NOT NULL AS locked';

/**
 * Lets one transaction at a time go on that names the same natural key, until it ends: two intents, each with a key of
 * its own, that must not both find "not there yet" and both write. For where there is no row to lock; where there is
 * one, `SELECT … FOR UPDATE` is clearer, and a unique index is still what proves it.
 *
 * Call it first in the transaction, under READ COMMITTED: statements behind it see what the one before committed.
 * Always name several natural keys in the same order, or two transactions wait for each other (40P01).
 *
 * @param naturalKey what the business calls it: `['invoice', customerId, month]`. Two that share a hash merely wait.
 */
export async function serializeOn(tx: RawQueries, naturalKey: string | readonly string[]): Promise<void> {
  const number = createHash('sha256')
    // A purpose of its own: the claims' tickets are advisory locks too.
    .update(lengthPrefixed('oncekit/serialize-on', ...[naturalKey].flat()))
    .digest()
    .readBigInt64BE();
  await tx.$queryRawUnsafe(LOCK, number);
}
