import { PrismaPg as PlainPg } from '@prisma/adapter-pg';
import { PrismaPg } from 'oncekit/adapter-pg';
import type pg from 'pg';
import { type Prisma, PrismaClient } from './generated/prisma/client.ts';

interface Options {
  /** The size of its connection pool. */
  max?: number;
  /** Or the pool. */
  pool?: pg.Pool;
  /** Or the adapter. */
  adapter?: PlainPg;
  transactionOptions?: { isolationLevel: 'Serializable' };
}

/** A Prisma client for one database. */
export function createClient(
  url: string,
  { max = 10, pool, adapter = adapterOn(pool ?? { connectionString: url, max }), ...more }: Options = {},
) {
  return new PrismaClient({ ...more, adapter });
}

function adapterOn(poolOrConfig: pg.Pool | pg.PoolConfig): PlainPg {
  // Tests of the other path: what an app has whose adapter is Prisma's.
  const Adapter = process.env.POOL === 'plain' ? PlainPg : PrismaPg;
  return new Adapter(poolOrConfig, { disposeExternalPool: true });
}

export type Client = ReturnType<typeof createClient>;
/** The client within a transaction, as Prisma names it. */
export type Transaction = Prisma.TransactionClient;

const held = globalThis as { oncekitDemoPrisma?: Client };

/** The demo's one client. Kept on `globalThis`, so that a hot reload does not open another pool. */
export function db(): Client {
  const url = process.env.DATABASE_URL;
  if (!url) throw new Error('DATABASE_URL is not set. `npm run demo` sets it; by hand: DATABASE_URL=postgresql://… ');
  held.oncekitDemoPrisma ??= createClient(url);
  return held.oncekitDemoPrisma;
}

/**
 * The same for modules that set something up when they are evaluated. `next build` evaluates them too, on machines
 * without a database; a client connects at its first query, and a build makes none.
 */
export function clientOrNone(): Client {
  const isBuild = process.env.NEXT_PHASE === 'phase-production-build';
  return isBuild ? createClient('postgresql://no-database-during-the-build') : db();
}
