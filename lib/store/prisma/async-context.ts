import { AsyncLocalStorage } from 'node:async_hooks';
import type { IsolationLevel } from '../rows.ts';
import type { ClientLike, PoolLike } from './wire/driver.ts';

/** Carried by the async context of the calling code; by it a pool, or a client, knows whose query it is given. */
export interface AsyncContext {
  /** The transaction of an execution, to which all queries of the user's belong. */
  transaction?: ContextTransaction;
  /** It is asked by the transaction's `tx`. */
  isByTx?: boolean;
  /** It is a statement of the kit's, which the transaction begins or ends with. */
  isKits?: boolean;
  /** Prisma is executing one query of it, so that a transaction it begins is that query's own. */
  isPrismaQuery?: boolean;
  /** Is given the pool that a query goes to. Returns whether that is all there is to the query: then it is not sent. */
  reportPool?: (pool: PoolLike, text: unknown) => boolean;
  /** Collects the connections of a question of the kit's through the user's client, to destroy them where it is given up. */
  checkedOut?: { add(client: ClientLike): void };
}

/** A transaction as the code knows it that finds it in its context: see `ExecutionTransaction`. */
export interface ContextTransaction {
  /** Itself, where it is the kit's own; none is Prisma's. */
  readonly own: OwnContextTransaction | undefined;
  /** Its owner: the client under all its extensions. */
  readonly client: object;
  readonly context: AsyncContext;
  readonly txContext: AsyncContext;
  /** There while it is not known yet whether it is committed. Never rejects. */
  readonly ending: Promise<void> | undefined;
  /** What is asked in its context belongs to it; of a released savepoint to what is around that. None: it goes by itself. */
  readonly current: ContextTransaction | undefined;
  isWithin(transaction: ContextTransaction): boolean;
  assertOpen(): void;
  /** @param query its `method` with its model, as in `order.create` */
  made(query: { method: string; isWrite: boolean }): () => void;
  send(query: PromiseLike<unknown>): Promise<unknown>;
  /** Sends something that must be answered before it ends. */
  count<T>(send: () => Promise<T>): Promise<T>;
  /** Of one of Prisma's, runs something in a savepoint. @param begin a nested $transaction, with its function */
  enclose?(begin: (run: (db: object) => unknown) => unknown, run: (tx: object) => unknown): Promise<unknown>;
  /** Tells whether a query of a transaction of Prisma's is in it. */
  holds(of: PrismaTransaction | undefined): boolean;
}

/** What a query says of the transaction of Prisma's that it belongs to: an interactive one, or that of a list. */
export interface PrismaTransaction {
  kind: 'itx' | 'batch';
  id?: unknown;
}

/** One of the kit's own: see `AmbientTransaction`. */
export interface OwnContextTransaction extends ContextTransaction {
  readonly begun: { pool: PoolLike; isolationLevel: IsolationLevel };
  readonly queryContext: AsyncContext;
  query(context: AsyncContext, args: never[]): unknown;
  connect(context: AsyncContext, args: never[]): unknown;
  sql(config: { text: string; values: readonly unknown[] }): Promise<unknown>;
  nest<T>(run: (nested: OwnContextTransaction) => Promise<T>): Promise<T>;
}

// On the global object: a bundler may give the app's client, whose pool asks, and its pages a copy of this module each.
const WITHIN = Symbol.for('oncekit.within');
const POOLS = Symbol.for('oncekit.pools');
const PENDING = Symbol.for('oncekit.pending-commits');
const shared = globalThis as {
  [WITHIN]?: AsyncLocalStorage<AsyncContext | undefined>;
  [POOLS]?: true;
  [PENDING]?: Set<Commit>;
};
shared[PENDING] ??= new Set();
const pending = shared[PENDING];

type Commit = () => Promise<unknown>;

/** Before the first pool or client is joined nobody looks, and an async context costs every promise of the process. */
export function enableContexts(): void {
  shared[WITHIN] ??= new AsyncLocalStorage();
}

/** Does the same for a pool that is wrapped, or about to be. */
export function expectPool(): void {
  enableContexts();
  shared[POOLS] = true;
}

/** Tells whether a pool is wrapped in this process, or about to be. */
export function expectsPools(): boolean {
  return shared[POOLS] === true;
}

export function currentContext(): AsyncContext | undefined {
  return shared[WITHIN]?.getStore();
}

export function runInContext<T>(what: AsyncContext | undefined, run: () => T): T {
  const contexts = shared[WITHIN];
  return contexts ? contexts.run(what, run) : run();
}

/** The transaction of the kit's own that what is asked in this context belongs to. */
export function ownTransactionIn(here: AsyncContext | undefined): OwnContextTransaction | undefined {
  return here?.transaction?.current?.own;
}

/**
 * Registers a transaction that is ready and not yet committed. Whoever asks for a connection next may read what it has
 * written, so that request commits it first, and waits for it.
 *
 * @returns removes it
 */
export function addPendingCommit(commit: Commit): () => void {
  pending.add(commit);
  return () => void pending.delete(commit);
}

/** Commits whatever is pending; undefined where nothing is. Never rejects: the owner of a transaction learns its failure. */
export function flushPendingCommits(): Promise<unknown> | undefined {
  if (pending.size === 0) return undefined;
  const commits = [...pending];
  pending.clear();
  return Promise.allSettled(commits.map((commit) => commit()));
}

/**
 * What must be waited for before it is known which transaction a question of this context belongs to: the COMMIT of its own, and those of
 * phases (ADR 37), whose writes it may read. Never rejects.
 */
export function endingIn(here: AsyncContext | undefined): Promise<unknown> | undefined {
  // A statement of the kit's is what the end waits for, also one that an extension puts in its place.
  return flushPendingCommits() ?? (here?.isKits ? undefined : here?.transaction?.ending);
}

/**
 * Runs something outside the transaction of the handler that calls it: its queries have connections of their own, are
 * committed at once, and stay when the handler's are rolled back. For what must survive a failure: a log of it, a counter.
 *
 * Where executions are in Prisma's interactive transactions, only what goes through `tx` is within, and a write beside it is
 * refused without this.
 * Whatever it waits for that the handler has locked, it waits for in vain.
 */
export async function outside<T>(run: () => PromiseLike<T> | T): Promise<T> {
  // Awaited within: a query of Prisma's is sent where it is awaited, not where it is made.
  return await (currentContext()?.transaction ? runInContext(undefined, async () => await run()) : run());
}
