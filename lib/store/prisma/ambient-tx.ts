import type { AmbientTransaction } from './ambient-transaction.ts';
import { runWithin, within } from './within.ts';

/** What Prisma's own transaction clients leave out, too. */
const LEFT_OUT = new Set<unknown>(['$connect', '$disconnect', '$on', '$extends']);

/**
 * The user's client as the `tx` of one ambient transaction: what is asked through it is in that transaction, also where the
 * async context was lost, as in a queue or a stream that was there before; and where it is over, nothing is done.
 */
export function txOf<Client extends object>(client: Client, transaction: AmbientTransaction): Client {
  // In a savepoint of it, it is that savepoint's.
  const inIt = <T>(run: () => T): T =>
    within()?.ambient?.isWithin(transaction) ? run() : runWithin(transaction.here, run);

  /** Prisma's promises are made in one place and sent where they are awaited, so both are done within. */
  const bound = (value: unknown, owner: object): unknown => {
    if (typeof value === 'function') {
      return (...args: unknown[]) => {
        const result = inIt(() => Reflect.apply(value, owner, args));
        return isThenable(result) ? membrane(result) : result;
      };
    }
    return value;
  };
  const membrane = <T extends object>(inner: T): T =>
    new Proxy(inner, { get: (target, name) => bound(Reflect.get(target, name), target) });

  return new Proxy(client, {
    get(target, name) {
      if (LEFT_OUT.has(name)) return undefined;
      const value = Reflect.get(target, name);
      return isModel(value, name) ? membrane(value) : bound(value, target);
    },
  });
}

function isThenable(value: unknown): value is object {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

/** One of the client's models, with the queries as its methods. */
function isModel(value: unknown, name: string | symbol): value is object {
  return typeof value === 'object' && value !== null && typeof name === 'string' && !/^[$_]/.test(name);
}
