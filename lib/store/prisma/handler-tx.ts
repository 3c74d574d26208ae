import { isPromised } from '../../core/wait.ts';
import { attachSql } from './ambient/sql.ts';
import { type ContextTransaction, currentContext, runInContext } from './async-context.ts';
import { isRead } from './client.ts';

/** Left out of Prisma's own transaction clients, too. */
const LEFT_OUT = new Set<unknown>(['$connect', '$disconnect', '$on', '$extends']);

/** They send a query of Prisma's, and come to nothing that asks for more. */
const SENDING = new Set<unknown>(['then', 'catch', 'finally']);

/** What takes a query off those that nobody has sent, by the promise of it. */
const takers = new WeakMap<object, () => void>();

/** Takes queries for a list, which sends them itself, or not where one before them fails. */
export function takeAll(queries: readonly unknown[]): void {
  for (const query of queries) takers.get(query as object)?.();
}

/** Of what a function was found: its owner, what the calls of it are named by, and what is done where it is called. */
interface Found {
  owner: object;
  /** As in `order.create`. */
  method: string;
  isWrite: boolean;
  take?: () => void;
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

  /** Prisma's promises are made in one place and sent where they are awaited, so both are done within. */
  const bound = (value: unknown, name: string | symbol, { owner, method, isWrite, take }: Found): unknown => {
    if (typeof value !== 'function') return value;
    if (SENDING.has(name)) {
      return (...args: unknown[]) => {
        take?.();
        const sent = within().send(owner as PromiseLike<unknown>);
        // What comes behind it is the caller's.
        return Reflect.apply(Reflect.get(sent, name) as typeof value, sent, args);
      };
    }
    return (...args: unknown[]) => {
      const at = within();
      try {
        at.assertOpen();
      } catch (closed) {
        return refused(closed);
      }
      take?.(); // of a fluent chain, or of a list: it is sent as a part of that, or not at all
      const result = runInContext(at.txContext, () => Reflect.apply(value, owner, ofNested(name, args)));
      return isPromised(result) ? promised(result as object, at, { method, isWrite }) : result;
    };
  };
  const promised = (owner: object, at: ContextTransaction, { method, isWrite }: Omit<Found, 'owner'>): object => {
    const take = isLazy(owner) ? at.made({ method, isWrite }) : undefined;
    const get = (_: object, name: string | symbol) =>
      bound(Reflect.get(owner, name), name, { owner, method, isWrite, take });
    const promise = new Proxy(owner, { get });
    if (take) takers.set(promise, take);
    return promise;
  };
  /** `$transaction` of a client that is a transaction of Prisma's gives its function a client that is not one of ours. */
  const ofNested = (name: string | symbol, args: unknown[]): unknown[] => {
    const [run, ...more] = args;
    if (name !== '$transaction' || transaction.own || typeof run !== 'function') return args;
    return [(nested: object) => run(txOf(nested, transaction)), ...more];
  };
  const found = (owner: object, name: string | symbol, model?: string) =>
    bound(Reflect.get(owner, name), name, {
      owner,
      method: model ? `${model}.${String(name)}` : String(name),
      isWrite: !isRead(name),
    });
  const tx = new Proxy(client, {
    get(target, name) {
      if (LEFT_OUT.has(name)) return undefined;
      const value = Reflect.get(target, name);
      if (!isModel(value, name)) return found(target, name);
      return new Proxy(value, { get: (model, method) => found(model, method, name as string) });
    },
  });
  return transaction.own ? attachSql(tx, transaction.own) : tx;
}

/** What a query comes to that is made behind the end: it fails where it is awaited, and not before. */
function refused(error: unknown): object {
  const rejected = () => Promise.reject(error);
  return new Proxy(rejected, {
    get: (_, name) =>
      SENDING.has(name)
        ? (...args: unknown[]) => Reflect.apply(Reflect.get(Promise.prototype, name), rejected(), args)
        : () => refused(error),
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
