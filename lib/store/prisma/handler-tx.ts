import { hash } from 'node:crypto';
import { assertSetUp } from '../../core/errors.ts';
import { lengthPrefixed } from '../../core/length-prefix.ts';
import { isPromised } from '../../core/wait.ts';
import { type ContextTransaction, currentContext, type OwnContextTransaction, runInContext } from './async-context.ts';
import { isRead, type RawQueries } from './client.ts';

/** Left out of Prisma's own transaction clients, too. */
const LEFT_OUT = new Set<unknown>(['$connect', '$disconnect', '$on', '$extends']);

/** They send a query of Prisma's, and come to nothing that asks for more. */
const SENDING = new Set<unknown>(['then', 'catch', 'finally']);

/** Takes a promise off those that nobody has sent. A bundler may give the client and its pages a copy of this module each. */
const TAKE = Symbol.for('oncekit.take');

/** Takes queries for a list, which sends them itself, or not where one before them fails. */
export function takeAll(queries: readonly unknown[]): void {
  for (const query of queries) (query as { [TAKE]?: () => void })[TAKE]?.();
}

/**
 * The client of one execution's transaction as its handler's `tx`: what is asked through it is in that transaction, also where
 * the async context was lost, as in a queue or a stream that was there before; where it is over, nothing is done; and a query
 * that is never sent is known.
 *
 * @param client the user's, for a transaction of the kit's own; the transaction's, for one of Prisma's
 */
export function txOf<Client extends object>(client: Client, transaction: ContextTransaction): Client {
  // In a savepoint of it, it is that savepoint's.
  const within = () => {
    const here = currentContext()?.transaction;
    return here?.isWithin(transaction) ? here : transaction;
  };

  /** @param method as in `order.create` */
  const called = (value: unknown, owner: object, name: string | symbol, method: string): unknown => {
    if (typeof value !== 'function' || isFrozen(owner, name)) return value;
    const apply = (_: unknown, __: unknown, args: unknown[]) => {
      const at = within();
      try {
        at.assertOpen();
      } catch (closed) {
        return refused(closed);
      }
      const [run, ...more] = args;
      const isNested = name === '$transaction' && at.enclose && typeof run === 'function';
      // One of Prisma's gives its function a client that is none of ours.
      const call = () =>
        isNested
          ? at.enclose?.((begun) => Reflect.apply(value, owner, [begun, ...more]), run as (tx: object) => unknown)
          : Reflect.apply(value, owner, args);
      const result = runInContext(at.txContext, call);
      return isPromised(result) ? promised(result as object, method) : result;
    };
    return new Proxy(value, { apply }); // an extension's may be a class, or have members of its own
  };
  /** Prisma's promises are made in one place and sent where they are awaited, so both are done within. */
  const promised = (owner: object, method: string): object => {
    const action = (owner as { spec?: { action?: string } }).spec?.action ?? method.split('.').at(-1);
    const take = isLazy(owner) ? transaction.made({ method, isWrite: !isRead(action) }) : () => {};
    let sent: Promise<unknown> | undefined;
    return new Proxy(owner, {
      get(_, name) {
        if (name === TAKE) return take;
        const value = Reflect.get(owner, name);
        if (typeof value !== 'function' || name in Object.prototype) return value;
        return (...args: unknown[]) => {
          take();
          // Of a fluent chain, or of a list: it is sent as a part of that, or not at all.
          if (!SENDING.has(name)) return (called(value, owner, name, method) as typeof value)(...args);
          sent ??= within().send(owner as PromiseLike<unknown>);
          // What comes behind it is the caller's.
          return Reflect.apply(Reflect.get(sent, name) as typeof value, sent, args);
        };
      },
    });
  };
  const tx = new Proxy(client, {
    has: (target, name) => !LEFT_OUT.has(name) && Reflect.has(target, name),
    get(target, name) {
      if (LEFT_OUT.has(name)) return undefined;
      const value = Reflect.get(target, name);
      if (!isModel(value, name)) return called(value, target, name, String(name));
      return new Proxy(value, {
        get: (model, method) => called(Reflect.get(model, method), model, method, `${String(name)}.${String(method)}`),
      });
    },
  });
  if (transaction.own) transactions.set(tx, transaction.own);
  return tx;
}

/** What a query comes to that is made behind the end: it fails where it is awaited, and not before. */
function refused(error: unknown): object {
  const rejected = () => Promise.reject(error);
  return new Proxy(rejected, {
    get(_, name) {
      if (name === Symbol.toStringTag) return 'PrismaPromise';
      return SENDING.has(name)
        ? (...args: unknown[]) => Reflect.apply(Reflect.get(Promise.prototype, name), rejected(), args)
        : () => refused(error);
    },
  });
}

/** Tells whether it is one of Prisma's, which are sent where they are awaited. */
export function isLazy(promise: unknown): boolean {
  return (promise as Record<symbol, unknown> | null)?.[Symbol.toStringTag] === 'PrismaPromise';
}

/** One of the client's models, with the queries as its methods. */
function isModel(value: unknown, name: string | symbol): value is object {
  return typeof value === 'object' && value !== null && typeof name === 'string' && !/^[$_]/.test(name);
}

/** A proxy may give nothing else in place of that. */
function isFrozen(owner: object, name: string | symbol): boolean {
  const { configurable, writable } = Reflect.getOwnPropertyDescriptor(owner, name) ?? {};
  return configurable === false && writable === false;
}

/** `pg`'s result of a statement that reads or writes rows. */
export interface SqlResult<Row> {
  rows: Row[];
  /** How many rows it has changed or returned. */
  rowCount: number;
  command: 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE' | 'MERGE';
}

/** SQL in the transaction of an execution, past Prisma's engine: values are read and written as `pg` does it. */
export interface Sql {
  /** A statement with its values as parameters. @returns its rows */
  <Row = Record<string, unknown>>(text: TemplateStringsArray, ...values: unknown[]): Promise<Row[]>;
  /** The same of a text with `$1`, `$2` and so on. */
  query<Row>(text: string, values?: readonly unknown[]): Promise<SqlResult<Row>>;
  /** For query builders: `new Kysely({ dialect: new PostgresDialect({ pool: sqlOf(tx).pool }) })`. */
  readonly pool: { connect(): Promise<SqlConnection>; end(): Promise<void> };
}

/** The transaction's own connection, for a query builder. Its statements of transactions are refused: it is one. */
export interface SqlConnection {
  query<Row>(text: string, values: readonly unknown[]): Promise<SqlResult<Row>>;
  /** @throws TypeError: a cursor would outlast its statement */
  query<Cursor extends object>(cursor: Cursor): Cursor;
  release(): void;
}

/** By a `tx`, its transaction: `sqlOf` finds it here. */
const transactions = new WeakMap<object, OwnContextTransaction>();

/**
 * SQL in the transaction of `tx`, without what Prisma's engine costs: for the one statement that is hot. It is committed
 * with the key and all else of `tx`, or not at all, and once the execution is over it is refused.
 *
 * ```ts
 * const [order] = await sqlOf(tx)<{ id: string }>`INSERT INTO orders (sku) VALUES (${sku}) RETURNING id`;
 * ```
 *
 * @throws ConfigurationError for a `tx` of an interactive transaction of Prisma's, and anything else
 * @throws ExecutionClosedError from each statement that comes after the execution's end
 */
export function sqlOf(tx: object): Sql {
  const transaction = transactions.get(tx);
  assertSetUp(transaction, "SQL past Prisma's engine needs a transaction of the kit's own.", {
    existing: "a tx of Prisma's, or none",
    expected: "the tx of a handler whose client has its PrismaPg from 'oncekit/adapter-pg'; or tx.$queryRaw",
  });
  const query = <Row>(text: string, values: readonly unknown[] = []) =>
    transaction.sql({ text, values }) as Promise<SqlResult<Row>>;
  const asked = (text: unknown, values?: readonly unknown[]) => {
    if (typeof text === 'string') return query(text, values);
    throw new TypeError('A cursor cannot be had of the transaction of an execution. Read the rows in parts.');
  };
  const sql = async <Row>(texts: TemplateStringsArray, ...values: unknown[]) => {
    const text = texts.reduce((before, next, at) => `${before}$${at}${next}`);
    return (await query<Row>(text, values)).rows;
  };
  const connection = { query: asked, release: () => {} } as SqlConnection;
  return Object.assign(sql, { query, pool: { connect: async () => connection, end: async () => {} } });
}

const LOCK = 'SELECT pg_advisory_xact_lock($1::bigint) IS NOT NULL AS locked';

/**
 * Lets one transaction at a time go on that names the same natural key, until it ends: two intents, each with a key of
 * its own, that must not both find "not there yet" and both write. For where there is no row to lock; where there is
 * one, `SELECT … FOR UPDATE` is clearer, and a unique index is still what proves it.
 *
 * Call it first in the transaction, under READ COMMITTED: statements behind it see what the one before committed.
 * Always name several natural keys in the same order, or two transactions wait for each other (40P01).
 *
 * @param naturalKey what the business calls it: `['invoice', customerId, month]`. Two that share a hash merely wait.
 */
export async function serializeOn(tx: RawQueries, naturalKey: string | readonly string[]): Promise<void> {
  // A purpose of its own: the claims' tickets are advisory locks too.
  const named = lengthPrefixed('oncekit/serialize-on', ...[naturalKey].flat());
  await tx.$queryRawUnsafe(LOCK, hash('sha256', named, 'buffer').readBigInt64BE());
}
