import { ConfigurationError } from '../../core/errors.ts';
import type { PrismaClientLike } from './client.ts';
import type { PoolLike } from './ride.ts';
import { runWithin } from './within.ts';

const pools = new WeakMap<PrismaClientLike, PoolLike>();

export function knownPoolOf(client: PrismaClientLike): PoolLike | undefined {
  const known = pools.get(client);
  return known?.ending ? undefined : known;
}

/**
 * The pool that a client sends its queries to. Nothing of Prisma tells; so once in a client's life a query is sent, and
 * the pool that it arrives at says so.
 *
 * @throws ConfigurationError where no pool of ours has seen it
 */
export async function poolOf(client: PrismaClientLike): Promise<PoolLike> {
  const known = pools.get(client);
  let told: PoolLike | undefined;
  const tellPool = (pool: PoolLike) => {
    told = pool;
  };
  await runWithin({ tellPool }, async () => await client.$queryRawUnsafe('SELECT 1'));
  if (!told || told.ending) throw noPool(known);
  pools.set(client, told);
  return told;
}

const noPool = (known: PoolLike | undefined) =>
  new ConfigurationError("transaction: 'ambient' needs a client on a pool that the kit has wrapped.", {
    existing: known
      ? 'a client that was disconnected, and has opened a pool of its own since'
      : 'a pool as Prisma makes it',
    expected: 'new PrismaPg(oncekitPool(new Pool({ connectionString })), { disposeExternalPool: true })',
  });
