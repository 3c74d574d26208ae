import * as prisma from '@prisma/adapter-pg';
import { expectPool } from '../store/prisma/async-context.ts';
import { oncekitPool } from '../store/prisma/wire/pool.ts';

/**
 * `PrismaPg` of `@prisma/adapter-pg`, with the same arguments and the same behaviour, on a pool that `oncekitPool` has
 * wrapped: an execution then takes as many round trips as the transaction that it protects. What is wrapped is the pool
 * that it makes or is given.
 *
 * Write `import { PrismaPg } from 'oncekit/adapter-pg'` in place of the import from `@prisma/adapter-pg`, which stays
 * installed: any version 7. An adapter of a later one that does not tell its pool is left as it is, and the kit then does
 * what it does on any other pool.
 */
export class PrismaPg extends prisma.PrismaPg {
  constructor(...args: ConstructorParameters<typeof prisma.PrismaPg>) {
    super(...args);
    // The client's first query makes the pool, and may be the kit's own: it carries a context only if there are any by then.
    expectPool();
  }

  /** Called by the client, at its first query and again after it was disconnected. */
  override async connect(): ReturnType<prisma.PrismaPg['connect']> {
    const adapter = await super.connect();
    const pool = adapter.underlyingDriver?.();
    if (pool) oncekitPool(pool);
    return adapter;
  }
}
