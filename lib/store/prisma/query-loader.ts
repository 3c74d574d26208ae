import { warnOnce } from '../../core/environment.ts';
import { IdempotencyError } from '../../core/errors.ts';
import {
  type AsyncContext,
  type ContextTransaction,
  currentContext,
  endingIn,
  type OwnContextTransaction,
  outside,
  type PrismaTransaction,
  runInContext,
} from './async-context.ts';
import { isRead } from './client.ts';
import type { PoolLike } from './wire/driver.ts';

/** Prisma's, which each query of a client passes on its way to a connection: it collects the `findUnique` calls of a tick. */
interface Loader {
  request(request: LoaderRequest): Promise<unknown>;
  options: { singleLoader(request: LoaderRequest): Promise<unknown> };
}

interface LoaderRequest {
  /** As it was called: `order.create`. */
  clientMethod: string;
  action: string;
  /** What Prisma's engine is asked. */
  protocolQuery: object;
  /** Belongs to a transaction of Prisma's. */
  transaction?: PrismaTransaction | undefined;
}

/** The part of a client under its extensions that has its loader. */
export interface LoaderOwner {
  _requestHandler?: { dataloader?: Loader };
}

/** The ids of transactions of Prisma's that executions have. */
export const live = new Set<unknown>();

/**
 * The way of a query within an execution: into its transaction, or past it. What goes past it and writes is refused, for it
 * would stay where the execution is rolled back; a read goes on.
 *
 * Prisma's loader sends everything that it has collected in a tick from the context of whoever came first: a query of one
 * execution would go to the connection of another. What is asked within a transaction of the kit's is therefore sent at once and
 * by itself, and never makes the loader collect.
 */
export function requestOf(request: Loader['request']): Loader['request'] {
  return function (this: Loader, asked) {
    const here = currentContext();
    if (!here?.transaction) return request.call(this, asked);
    // One of a transaction of Prisma's waits for nothing: COMMIT may be what waits for it.
    const ending = asked.transaction ? undefined : endingIn(here);
    // In Prisma's a read, which may pass, waits for nothing: an extension may let queries through one by one.
    if (ending && !here.transaction.own && isRead(asked.action)) return outside(() => request.call(this, asked));
    if (ending) return ending.then(() => this.request(asked));
    const transaction = here.transaction.current;
    if (!transaction) return request.call(this, asked);
    if (transaction.holds(asked.transaction)) {
      if (here.isKits) return request.call(this, asked);
      transaction.assertOpen();
      return transaction.count(() => request.call(this, asked));
    }
    // Of another execution, where an extension has a queue: it runs in the context of whoever was there before.
    if (asked.transaction && live.has(asked.transaction.id)) return request.call(this, asked);
    const pass = () => {
      assertMayPass(here, transaction, asked, isLoaderOf(transaction.client, this));
      return outside(() => request.call(this, asked));
    };
    const { own } = transaction;
    if (!own || asked.transaction) return pass();
    if (isLoaderOf(own.client, this)) {
      tellOfGlobal(here, own, asked.clientMethod);
    } else {
      const behind = pools.get(this);
      if (!behind) return learnPool(this, asked).then(() => this.request(asked));
      if (behind.pool !== own.begun.pool) return pass();
    }
    return runInContext(own.queryContext, () => this.options.singleLoader(asked));
  };
}

/**
 * @param isOwners whether it is asked of the client that the transaction is of
 * @throws IdempotencyError for a write; ExecutionClosedError for what the execution has left behind
 */
function assertMayPass(
  { isKits }: AsyncContext,
  transaction: ContextTransaction,
  asked: LoaderRequest,
  isOwners: boolean,
): void {
  const { clientMethod: method, transaction: of } = asked;
  const writes = !isRead(asked.action);
  if (!isKits && (writes || isOwners)) transaction.assertOpen();
  if (writes) {
    const isOurs = isKits && method === '$queryRawUnsafe';
    throw pastTransaction(isOurs ? "A statement of the kit's" : method, PAST[of?.kind ?? 'none']);
  }
  warnOnce(transaction.client, `past ${method}`, () => pastRead(method));
}

const PAST = {
  none: 'asked by itself',
  itx: 'asked in another $transaction',
  batch: 'asked in a $transaction([…]), which Prisma begins by itself',
};

function isLoaderOf(client: object, loader: Loader): boolean {
  return (client as LoaderOwner)._requestHandler?.dataloader === loader;
}

/** For whoever knows the client by its global name as one whose queries are committed at once. */
export function tellOfGlobal({ isByTx }: AsyncContext, { client }: OwnContextTransaction, method: string): void {
  if (isByTx) return;
  warnOnce(client, 'global', () => askedByGlobalName(method));
}

export const WHICH_POOL = 'SELECT 1 AS oncekit_pool';

/**
 * Nothing of Prisma tells which pool a client has; so a query is made, and the pool that it arrives at says so, and answers it.
 *
 * @param ask sends WHICH_POOL
 * @returns none where no pool of ours has seen it
 */
export async function poolReachedBy(ask: () => PromiseLike<unknown>): Promise<PoolLike | undefined> {
  let found: PoolLike | undefined;
  const reportPool = (pool: PoolLike, text: unknown) => {
    if (text !== WHICH_POOL) return false;
    found = pool;
    return true;
  };
  await runInContext({ reportPool }, async () => await ask());
  return found;
}

/** Pools by the loaders of clients that the kit was not given. */
const pools = new WeakMap<Loader, { pool: PoolLike | undefined }>();

/** @param like a request that it was given */
async function learnPool(loader: Loader, like: LoaderRequest): Promise<void> {
  const query = { arguments: { query: WHICH_POOL, parameters: '[]' }, selection: {} };
  const raw = { action: 'queryRaw', protocolQuery: { action: 'queryRaw', query }, dataPath: [], unpacker: undefined };
  pools.set(loader, { pool: await poolReachedBy(() => loader.options.singleLoader({ ...like, ...raw })) });
}

const pastRead = (method: string) =>
  `${method} was asked within a handler, and not in its transaction: it does not see what the handler has written. Ask tx, or wrap it in outside(() => …).`;

const askedByGlobalName = (method: string) =>
  `${method}, asked of the client by its global name within a handler, is part of the execution's transaction, like what is asked of tx. What is to stay when that is rolled back (a log, what a cache keeps, rows that other requests gave a shared writer) belongs in outside(() => …). Said once.`;

/** A query was refused that would not have been in the transaction of its execution. */
export class PastTransactionError extends IdempotencyError {}

const pastTransaction = (method: string, existing: string) =>
  new PastTransactionError(
    `${method} would not have been in the transaction of its execution, and would stay where that is rolled back; nothing was done. Ask tx; in an extension query(args), not the client that it has captured; or wrap it in outside(() => …).`,
    { existing, expected: 'queries of tx, one by one or in tx.$transaction(async (tx) => …); or outside(() => …)' },
  );
