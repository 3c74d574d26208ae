import type { PrismaClientLike, RawQueries } from './client.ts';
import { type Rows, renamed, type Statement } from './statement.ts';
import type { Rename } from './tables.ts';

const originals = new WeakMap<RawQueries, unknown>();

/**
 * A client of which our statements ask for tables by their own names. Only statements of ours go through it: what the
 * user runs in a transaction, runs in their own (`originalOf`). So an app with the default names never comes here, and
 * pays nothing for it.
 */
export function renamedClient(client: PrismaClientLike, rename: Rename): PrismaClientLike {
  const { $primary } = client as { $primary?: () => PrismaClientLike };
  const renamed: PrismaClientLike = {
    ...renamedQueries(client, rename),
    $transaction: (run, options) => client.$transaction((tx) => run(renamedQueries(tx, rename)), options),
    ...(typeof $primary === 'function' ? { $primary: onceFor($primary.bind(client), rename) } : {}),
  };
  originals.set(renamed, client);
  return renamed;
}

/** One for all calls: what is remembered of a client is remembered by the object. */
function onceFor(primary: () => PrismaClientLike, rename: Rename): () => PrismaClientLike {
  let made: PrismaClientLike | undefined;
  return () => {
    made ??= renamedClient(primary(), rename);
    return made;
  };
}

export function renamedQueries(db: RawQueries, rename: Rename): RawQueries {
  const queries: RawQueries = { $queryRawUnsafe: (text, ...values) => db.$queryRawUnsafe(rename(text), ...values) };
  originals.set(queries, db);
  return queries;
}

/** Queries that are asked by a function, on tables of other names where there are such. */
export function queriesBy(ask: (statement: Statement) => Promise<Rows>, rename: Rename | undefined): RawQueries {
  return {
    $queryRawUnsafe: <T>(text: string, ...values: unknown[]) => ask(renamed({ text, values }, rename)) as Promise<T>,
  };
}

/** The user's own client, or transaction client, of one that may be renamed. */
export function originalOf<Tx>(db: RawQueries): Tx {
  return (originals.get(db) ?? db) as Tx;
}
