import type { PrismaClientLike, RawQueries } from './client.ts';
import { ask } from './pool.ts';
import { renamedQueries } from './renamed.ts';
import type { PoolLike } from './ride.ts';
import type { Rename } from './tables.ts';

const readers = new WeakMap<PrismaClientLike, RawQueries & { pool: PoolLike }>();

/** From now on, reads of this client go to its pool without a detour: Prisma's share of a read is the larger one. */
export function readThrough(client: PrismaClientLike, pool: PoolLike, rename?: Rename): void {
  if (readers.get(client)?.pool === pool) return;
  const $queryRawUnsafe = <T>(text: string, ...values: unknown[]) => ask(pool, { text, values }) as Promise<T>;
  const reader = { $queryRawUnsafe };
  readers.set(client, { pool, ...(rename ? renamedQueries(reader, rename) : reader) });
}

/**
 * What reads a client's primary at the least cost: its pool, once a transaction has shown which one that is, for a
 * replica is never asked to begin one.
 */
export function readerOf(client: PrismaClientLike): RawQueries | undefined {
  const reader = readers.get(client);
  // After a disconnect Prisma opens another pool by itself.
  return reader?.pool.ending ? undefined : reader;
}
