import { isPromised } from '../../../core/wait.ts';
import { type ContextTransaction, currentContext, runInContext } from '../async-context.ts';
import { attachSql } from './sql.ts';

/** Left out of Prisma's own transaction clients, too. */
const LEFT_OUT = new Set<unknown>(['$connect', '$disconnect', '$on', '$extends']);

/** They begin a query of Prisma's, and come to nothing that asks for more. */
const SENDING = new Set<unknown>(['then', 'catch', 'finally']);

/**
 * The user's client as the `tx` of one transaction of the kit's own: what is asked through it is in that transaction, also
 * where the async context was lost, as in a queue or a stream that was there before; and where it is over, nothing is done.
 */
export function txOf<Client extends object>(client: Client, transaction: ContextTransaction): Client {
  // In a savepoint of it, it is that savepoint's.
  const within = () => {
    const here = currentContext()?.transaction;
    return here?.isWithin(transaction) ? here : transaction;
  };

  /** Prisma's promises are made in one place and sent where they are awaited, so both are done within. */
  const bound = (value: unknown, name: string | symbol, owner: object): unknown => {
    if (typeof value !== 'function') return value;
    if (SENDING.has(name)) {
      return (...args: unknown[]) => {
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
      const result = runInContext(at.txContext, () => Reflect.apply(value, owner, args));
      return isPromised(result) ? new Proxy(result as object, membrane) : result;
    };
  };
  const membrane: ProxyHandler<object> = {
    get: (target, name) => bound(Reflect.get(target, name), name, target),
  };
  const tx = new Proxy(client, {
    get(target, name) {
      if (LEFT_OUT.has(name)) return undefined;
      const value = Reflect.get(target, name);
      return isModel(value, name) ? new Proxy(value, membrane) : bound(value, name, target);
    },
  });
  return attachSql(tx, transaction);
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

/** One of the client's models, with the queries as its methods. */
function isModel(value: unknown, name: string | symbol): value is object {
  return typeof value === 'object' && value !== null && typeof name === 'string' && !/^[$_]/.test(name);
}
