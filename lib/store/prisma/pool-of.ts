import { ConfigurationError } from '../../core/errors.ts';
import type { RawQueries } from './client.ts';
import type { PoolLike } from './ride.ts';
import { runWithin } from './within.ts';

const pools = new WeakMap<RawQueries, PoolLike>();

/** What `poolOf` has found, without asking again. */
export function knownPoolOf(original: RawQueries): PoolLike | undefined {
  const known = pools.get(original);
  return known?.ending ? undefined : known;
}

/**
 * The pool that a client sends its queries to. Nothing of Prisma tells; so before a client's first execution a query is
 * sent, and the pool that it arrives at says so.
 *
 * @param original under all its extensions, which may have queries of their own, to another database
 * @throws ConfigurationError where no pool of ours has seen it
 */
export async function poolOf(original: RawQueries): Promise<PoolLike> {
  let told: PoolLike | undefined;
  const tellPool = (pool: PoolLike) => {
    told = pool;
  };
  await runWithin({ tellPool }, async () => await original.$queryRawUnsafe('SELECT 1'));
  if (!told || told.ending) throw noPool(pools.has(original));
  pools.set(original, told);
  return told;
}

const noPool = (wasKnown: boolean) =>
  new ConfigurationError("transaction: 'ambient' needs a client on a pool that the kit has wrapped.", {
    existing: wasKnown
      ? 'a client that was disconnected, and has opened a pool of its own since'
      : 'a pool as Prisma makes it',
    expected: 'new PrismaPg(oncekitPool(new Pool({ connectionString })), { disposeExternalPool: true })',
  });
