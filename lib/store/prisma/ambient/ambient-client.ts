import { assertSetUp, ConfigurationError } from '../../../core/errors.ts';
import {
  type AsyncContext,
  currentContext,
  enableContexts,
  endingIn,
  type OwnContextTransaction,
  outside,
  ownTransactionIn,
  runInContext,
} from '../async-context.ts';
import { type PrismaClientLike, type RawQueries, scopeOf, type TransactionOptions } from '../client.ts';
import { isLazy, takeAll, txOf } from '../handler-tx.ts';
import { type LoaderOwner, requestOf, tellOfGlobal } from '../query-loader.ts';

/**
 * The two places inside a Prisma client at which an async context would be lost, or be the wrong one. Both are looked for
 * when the kit is set up.
 */
interface Insides extends RawQueries, LoaderOwner {
  /** The client under all its extensions. */
  _originalClient?: Insides;
  $transaction?: Transact;
}

type Transact = (this: unknown, input: unknown, options?: unknown) => Promise<unknown>;

/** On what is joined already: a bundler may give pages and routes a copy of this module each, a hot reload one more. */
const JOINED = Symbol.for('oncekit.joined');

interface SeenClient {
  /** The client under all its extensions, where it is known. */
  original: RawQueries;
  /** Code of others may catch what fails in its transactions, try them again, or go on behind their COMMIT. */
  hasOwnTransaction: boolean;
  /** Why it is not seen where each of its queries goes: what a handler has begun is then never proven to be rolled back. */
  whyUnproven?: ConfigurationError;
}

const clients = new WeakMap<object, SeenClient>();

/** Looks into a client of the user's, and joins it. */
export function seen(client: PrismaClientLike): SeenClient {
  const known = clients.get(client) ?? look(client);
  clients.set(client, known);
  return known;
}

function look(client: PrismaClientLike): SeenClient {
  enableContexts();
  try {
    const original = interceptClient(client);
    if ('$replica' in client) return { original, hasOwnTransaction: true, whyUnproven: readsReplicas() };
    return { original, hasOwnTransaction: client.$transaction !== original.$transaction };
  } catch (error) {
    return { original: client, hasOwnTransaction: true, whyUnproven: error as ConfigurationError };
  }
}

/**
 * Lets a client be used within executions, whichever of its extensions is called: each query finds to its transaction, or is
 * known to go past it, and `$transaction` in one of the kit's own is a savepoint.
 *
 * @returns the client under all its extensions
 * @throws ConfigurationError for a client that is not made as the kit knows Prisma's are
 */
function interceptClient(client: PrismaClientLike): RawQueries & Pick<Insides, '$transaction'> {
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
  const loaders = Object.getPrototypeOf(loader) as typeof loader;
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

/** `$transaction`, which within a transaction of the same client is a savepoint in it. */
function nestedIn(client: object, begin: Transact): Transact {
  return function nested(this: unknown, input, options): Promise<unknown> {
    const here = currentContext();
    const ending = here?.transaction && endingIn(here);
    if (ending) return ending.then(() => nested.call(this, input, options));
    const transaction = ownTransactionIn(here);
    // Of another client, which may have another database.
    if (transaction?.client !== client) return begin.call(this, input, options);
    if (scopeOf(this as object)) return outside(() => begin.call(this, input, options));
    tellOfGlobal(here as AsyncContext, transaction, '$transaction');
    return nest(transaction, this as object, input, options as TransactionOptions | undefined);
  };
}

async function nest(outer: OwnContextTransaction, client: object, input: unknown, options: TransactionOptions = {}) {
  assertSuffices(outer, options.isolationLevel);
  if (Array.isArray(input)) {
    // Anything else has begun by itself, and would wait for the savepoint that waits for it.
    if (!input.every(isLazy)) throw new TypeError('All elements of the array need to be Prisma Client promises.');
    takeAll(input);
  }
  const run = (nested: OwnContextTransaction) =>
    Array.isArray(input) ? inTurn(input) : (input as (tx: object) => unknown)(txOf(client, nested));
  // Awaited within: a query of Prisma's is sent where it is awaited, not where it is made.
  return await outer.nest((nested) => runInContext(nested.context, async () => await run(nested)));
}

/** What guarantees less is kept by what guarantees more. PostgreSQL has no level below READ COMMITTED. */
const LEVELS: readonly string[] = ['ReadUncommitted', 'ReadCommitted', 'RepeatableRead', 'Serializable'];

function assertSuffices({ begun: { isolationLevel } }: OwnContextTransaction, wanted = 'ReadUncommitted'): void {
  const found = LEVELS.indexOf(wanted);
  const words = `A $transaction within an execution is a savepoint of it, and asks for ${wanted}, where the execution is in ${isolationLevel}.`;
  const expected = `isolationLevel: '${wanted}' in the options of the operation`;
  assertSetUp(found >= 0 && found <= LEVELS.indexOf(isolationLevel), words, { existing: wanted, expected });
}

async function inTurn(queries: readonly PromiseLike<unknown>[]): Promise<unknown[]> {
  const results: unknown[] = [];
  for (const query of queries) results.push(await query);
  return results;
}

const UNPROVEN = 'so a handler that fails is answered as unknown, never as not executed.';

const readsReplicas = () =>
  new ConfigurationError(`With the read-replica extension queries leave for other servers, ${UNPROVEN}`, {
    existing: 'a client with $replica',
    expected: 'a client without it for createIdempotency',
  });

const unknownClient = (existing: string) =>
  new ConfigurationError(
    `The kit does not know this client, and does not see where each of its queries goes, ${UNPROVEN}`,
    { existing, expected: 'a client of Prisma 7 that PrismaClient has made' },
  );
