import { assertSetUp } from '../../core/errors.ts';
import { NoRowsChangedError } from './errors.ts';
import type { Rows, Statement } from './statement.ts';

/**
 * The user's Prisma client, by its shape: the kit never imports anybody's generated client. Any Prisma >= 7 client
 * for PostgreSQL fits, also one that was `$extends`-ed.
 */
export interface PrismaClientLike extends RawQueries {
  // biome-ignore lint/suspicious/noExplicitAny: the transaction type is the user's own; `TransactionOf` gives it back.
  $transaction<R>(run: (tx: any) => Promise<R>, options?: TransactionOptions): Promise<R>;
}

/** Sends statements: a client or a transaction. */
export interface RawQueries {
  $queryRawUnsafe<T = unknown>(query: string, ...values: unknown[]): PromiseLike<T>;
}

/** Queries that are asked by a function. */
export function queriesBy(ask: (statement: Statement) => Promise<Rows>): RawQueries {
  return { $queryRawUnsafe: <T>(text: string, ...values: unknown[]) => ask({ text, values }) as Promise<T> };
}

/** Runs a transaction by statements of a connection. One that has ended takes no ROLLBACK, and is not given back as a good one. */
export async function transactBy<R>(db: RawQueries, begin: string, run: (tx: RawQueries) => Promise<R>): Promise<R> {
  await db.$queryRawUnsafe(begin);
  try {
    const result = await run(db);
    await db.$queryRawUnsafe('COMMIT');
    return result;
  } catch (error) {
    await db.$queryRawUnsafe('ROLLBACK').then(undefined, () => {});
    throw error;
  }
}

/** Tells a client from a transaction of one. */
export function isWholeClient(db: RawQueries): boolean {
  return typeof (db as { $connect?: unknown }).$connect === 'function';
}

/**
 * Refuses a whole client where a transaction is due: its statement would count whether the transaction commits or not.
 *
 * @throws ConfigurationError with the words
 */
export function assertTransaction(tx: RawQueries, words: string): void {
  assertSetUp(!isWholeClient(tx), words, {
    existing: 'a Prisma client',
    expected: 'the client of an interactive transaction',
  });
}

/** Counts the rows that a statement answers with. One that changes rows has a RETURNING. */
export async function countRows(db: RawQueries, statement: string, ...values: unknown[]): Promise<number> {
  return (await db.$queryRawUnsafe<unknown[]>(statement, ...values)).length;
}

/**
 * Sends a statement of ours as one of the client's or transaction's own.
 *
 * @throws NoRowsChangedError where it had to change a row, and found none
 */
export async function sendStatement(db: RawQueries, { text, alone, values }: Statement): Promise<Rows> {
  const rows = await db.$queryRawUnsafe<Rows>(alone ?? text, ...values);
  if (alone && rows.length === 0) throw new NoRowsChangedError();
  return rows;
}

export interface TransactionOptions {
  timeout?: number;
  maxWait?: number;
  isolationLevel?: 'ReadCommitted' | 'RepeatableRead' | 'Serializable';
}

/**
 * The user's own transaction client, exactly as their `$transaction` gives it: their models, their extensions, and what
 * their version of Prisma leaves out. Of its two forms, a list of queries and a function, that of the function.
 */
export type TransactionOf<Client extends { $transaction: unknown }> = Client['$transaction'] extends {
  (first: infer A, ...rest: never[]): unknown;
  (second: infer B, ...rest: never[]): unknown;
}
  ? GivenTo<A | B>
  : never;

type GivenTo<Run> = Run extends (tx: infer Tx) => unknown ? Tx : never;

/**
 * The client that reads the primary. The read-replica extension sends a raw query outside a transaction to a
 * replica, where a row that has just been committed may still be missing.
 */
export function primaryOf(client: PrismaClientLike): PrismaClientLike {
  const { $primary } = client as { $primary?: () => PrismaClientLike };
  return typeof $primary === 'function' ? $primary.call(client) : client;
}

const SCOPE = Symbol.for('prisma.client.transaction.scope_context');

/** What Prisma has noted on a client that is itself an interactive transaction of its own: which one that is. */
export function scopeOf(db: object): { txId?: unknown } | undefined {
  return (db as { [SCOPE]?: { txId?: unknown } })[SCOPE];
}

/** The queries that change nothing. What has another name may: raw SQL, and what an extension has made. */
const READ = /^(find(Unique|First)(OrThrow)?|findMany|count|aggregate|groupBy)$/;

/** @param method of a model, as Prisma names it */
export function isRead(method: unknown): boolean {
  return READ.test(String(method));
}

/** The setting of a transaction that runs a naturally idempotent operation again. */
export const RERUNS = 'oncekit.reruns';
