import { warnOnce } from '../../../core/development.ts';
import { ConfigurationError } from '../../../core/errors.ts';
import {
  type AsyncContext,
  type ContextTransaction,
  currentContext,
  endingIn,
  outside,
  runInContext,
  transactionIn,
} from '../async-context.ts';
import type { PrismaClientLike, RawQueries, TransactionOptions } from '../client.ts';
import { txOf } from './ambient-tx.ts';

/**
 * The two places inside a Prisma client at which an async context would be lost, or be the wrong one. Both are looked for
 * when the kit is set up, and a client in which they are not found is refused.
 */
interface Insides extends RawQueries {
  /** The client under all its extensions. */
  _originalClient?: Insides;
  $transaction?: Transact;
  /** Collects the `findUnique` calls of a tick into one query. */
  _requestHandler?: { dataloader?: Loader };
}

type Transact = (this: unknown, input: unknown, options?: unknown) => Promise<unknown>;

interface Loader {
  request(request: LoaderRequest): Promise<unknown>;
  options: { singleLoader(request: LoaderRequest): Promise<unknown> };
}

interface LoaderRequest {
  /** As it was called: `prisma.order.create`. */
  clientMethod?: string;
  /** Belongs to a transaction of Prisma's own. */
  transaction?: { kind: 'itx' | 'batch'; lock?: Promise<void> };
}

/** On a client that is itself an interactive transaction of Prisma's. */
const OF_A_TRANSACTION = Symbol.for('prisma.client.transaction.scope_context');

/** On what is joined already: a bundler may give pages and routes a copy of this module each, a hot reload one more. */
const JOINED = Symbol.for('oncekit.joined');

/**
 * Lets a client be used within transactions of the kit's own, whichever of its extensions is called: each query is sent from the
 * context it was made in, and `$transaction` there is a savepoint.
 *
 * @returns the client under all its extensions
 * @throws ConfigurationError for a client that reads from replicas, or that is not made as the kit knows Prisma's are
 */
export function interceptClient(client: PrismaClientLike): RawQueries {
  if ('$replica' in client) throw readsReplicas();
  const insides = client as unknown as Insides;
  const original = insides._originalClient;
  const loader = original?._requestHandler?.dataloader;
  if (!original || typeof original.$transaction !== 'function')
    throw unknownClient('no $transaction under its extensions');
  if (typeof loader?.request !== 'function' || typeof loader.options?.singleLoader !== 'function') {
    throw unknownClient('no loader of queries');
  }
  const { $transaction } = original;
  once(original, () => {
    Object.defineProperty(original, '$transaction', { value: nestedIn(original, $transaction), configurable: true });
  });
  // Its class is that of all clients of this copy of Prisma. One that is not ours may be called in a handler, too.
  const loaders = Object.getPrototypeOf(loader) as Loader;
  once(loaders, () => {
    loaders.request = requestOf(loaders.request);
  });
  return original;
}

function once(target: object, join: () => void): void {
  if (JOINED in target) return;
  join();
  Object.defineProperty(target, JOINED, { value: true });
}

/**
 * Prisma's loader sends everything that it has collected in a tick from the context of whoever came first: a query of one
 * execution would go to the connection of another. What is asked within a transaction is therefore sent at once and by
 * itself, and never makes the loader collect.
 */
function requestOf(request: Loader['request']): Loader['request'] {
  return function (this: Loader, asked) {
    const here = currentContext();
    if (!here?.transaction) return request.call(this, asked);
    // One of a transaction of Prisma's own waits for nothing: COMMIT may be what waits for it, and a list must stay together.
    const ending = asked.transaction ? undefined : endingIn(here);
    if (ending) return ending.then(() => this.request(asked));
    const transaction = transactionIn(here);
    if (!transaction) return request.call(this, asked);
    tell(here, transaction, asked.clientMethod, this);
    if (!asked.transaction) return runInContext(transaction.queryContext, () => this.options.singleLoader(asked));
    if (asked.transaction.kind === 'batch') return request.call(loaderOf(this, asked.transaction), asked);
    // It has the connection of its own transaction, which needs no context to find it.
    return outside(() => request.call(this, asked));
  };
}

/** By what the queries of one `$transaction([…])` share. */
const loaders = new WeakMap<object, Loader>();

/** A loader for one list of queries, of a client that the kit does not know: it sends them from the context that they were made in. */
function loaderOf(loader: Loader, { lock }: NonNullable<LoaderRequest['transaction']>): Loader {
  if (!lock) throw unknownClient('a list of queries that share nothing');
  const own = loaders.get(lock) ?? Object.assign(Object.create(loader), { batches: {}, tickActive: false });
  loaders.set(lock, own);
  return own;
}

/** For whoever knows the client by its global name as one whose queries are committed at once. */
function tell({ isByTx }: AsyncContext, { begun }: ContextTransaction, method = 'A query', loader?: Loader): void {
  const of = begun.client as Insides;
  if (isByTx || (loader && loader !== of._requestHandler?.dataloader)) return;
  warnOnce(
    of,
    () =>
      `${method}, asked of the client by its global name within a handler, is part of the execution's transaction, like what is asked of tx. What is to stay when that is rolled back (a log, what a cache keeps, rows that other requests gave a shared writer) belongs in outside(() => …). Said once.`,
  );
}

/** `$transaction`, which within a transaction of the same client is a savepoint in it. */
function nestedIn(client: object, begin: Transact): Transact {
  return function nested(this: unknown, input, options): Promise<unknown> {
    const here = currentContext();
    const ending = here?.transaction && endingIn(here);
    if (ending) return ending.then(() => nested.call(this, input, options));
    const transaction = transactionIn(here);
    // Of another client, which may have another database.
    if (transaction?.begun.client !== client) return begin.call(this, input, options);
    if ((this as Record<symbol, unknown>)[OF_A_TRANSACTION]) return outside(() => begin.call(this, input, options));
    tell(here as AsyncContext, transaction, '$transaction');
    return nest(transaction, this as object, input, options as TransactionOptions | undefined);
  };
}

async function nest(outer: ContextTransaction, client: object, input: unknown, options: TransactionOptions = {}) {
  assertSuffices(outer, options.isolationLevel);
  if (Array.isArray(input) && !input.every(isQuery))
    throw new TypeError('All elements of the array need to be Prisma Client promises.');
  const run = (nested: ContextTransaction) =>
    Array.isArray(input) ? inTurn(input) : (input as (tx: object) => unknown)(txOf(client, nested));
  // Awaited within: a query of Prisma's is sent where it is awaited, not where it is made.
  return await outer.nest((nested) => runInContext(nested.context, async () => await run(nested)));
}

/** What guarantees less is kept by what guarantees more. PostgreSQL has no level below READ COMMITTED. */
const LEVELS: readonly string[] = ['ReadUncommitted', 'ReadCommitted', 'RepeatableRead', 'Serializable'];

function assertSuffices({ begun: { isolationLevel } }: ContextTransaction, wanted = 'ReadUncommitted'): void {
  const found = LEVELS.indexOf(wanted);
  if (found < 0 || found > LEVELS.indexOf(isolationLevel)) throw nestedIsolationLevel(wanted, isolationLevel);
}

/** Anything else has begun by itself, and would wait for the savepoint that waits for it. */
function isQuery(promise: unknown): boolean {
  return (promise as Record<symbol, unknown> | null)?.[Symbol.toStringTag] === 'PrismaPromise';
}

async function inTurn(queries: readonly PromiseLike<unknown>[]): Promise<unknown[]> {
  const results: unknown[] = [];
  for (const query of queries) results.push(await query);
  return results;
}

const readsReplicas = () =>
  new ConfigurationError(
    "Transactions of the kit's own cannot be had with the read-replica extension: reads of a handler would leave them.",
    {
      existing: 'a client with $replica',
      expected: "a client without it for createIdempotency, or transaction: 'interactive'",
    },
  );

const unknownClient = (existing: string) =>
  new ConfigurationError('The kit does not know this client, and could not keep its transactions apart.', {
    existing,
    expected: "a client of Prisma 7 that PrismaClient has made, or transaction: 'interactive'",
  });

const nestedIsolationLevel = (wanted: string, level: string) =>
  new ConfigurationError(
    `A $transaction within an execution is a savepoint of it, and asks for ${wanted}, where the execution is in ${level}.`,
    { existing: wanted, expected: `isolationLevel: '${wanted}' in the options of the operation` },
  );
