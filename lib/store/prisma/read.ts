import type { PrismaClientLike, RawQueries } from './client.ts';
import type { PoolLike, Rows } from './flight.ts';
import { driverError, TYPES } from './wire.ts';

const pools = new WeakMap<PrismaClientLike, RawQueries>();

/** From now on, reads of this client go to its pool without a detour: Prisma's share of a read is the larger one. */
export function readThrough(client: PrismaClientLike, pool: PoolLike): void {
  if (pools.has(client)) return;
  const query = pool.query.bind(pool) as unknown as (config: object) => Promise<{ rows: Rows }>;
  pools.set(client, {
    $queryRawUnsafe: <T>(text: string, ...values: unknown[]) =>
      query({ text, values, types: TYPES }).then(
        ({ rows }) => rows as T,
        (error) => {
          throw driverError(error);
        },
      ),
  });
}

/**
 * What reads a client's primary at the least cost. Its pool, once a transaction has shown which one that is: a replica
 * is never asked to begin one.
 */
export function readerOf(client: PrismaClientLike): RawQueries | undefined {
  return pools.get(client);
}
