import type { PrismaClientLike, RawQueries } from '../store/prisma/client.ts';

/**
 * A client whose statements and transactions are part of `tx`. With it, what `createAdmin` and a bare `createOutbox` do in
 * the handler of an operation is done together with the operation's key, or not at all: sent twice it is done once, and
 * both requests get the same answer.
 *
 * ```ts
 * createAdmin({ prisma: joinTransaction(tx), afterCommit });
 * ```
 */
export function joinTransaction(tx: RawQueries): PrismaClientLike {
  return {
    $queryRawUnsafe: (query, ...values) => tx.$queryRawUnsafe(query, ...values),
    $transaction: (run) => run(tx),
  };
}
