import { IdempotencyError } from '../../core/errors.ts';
import type { AmbientTransaction } from './ambient-transaction.ts';
import { within } from './within.ts';

/** What Prisma's own transaction clients leave out, too. */
const LEFT_OUT = new Set(['$connect', '$disconnect', '$on']);

/**
 * The user's client as the `tx` of one ambient transaction. It is the async context that leads a query there, not the
 * client; so where the context was lost, as in a queue or a stream that was there before, the query would be committed by
 * itself. That is refused.
 */
export function guarded<Tx extends object>(client: Tx, transaction: AmbientTransaction): Tx {
  return new Proxy(client, {
    get(target, name) {
      if (typeof name === 'string' && name !== 'then') {
        if (LEFT_OUT.has(name)) return undefined;
        const { ambient } = within() ?? {};
        if (!ambient?.isWithin(transaction)) throw strayed(transaction, name);
      }
      return Reflect.get(target, name);
    },
  });
}

function strayed(transaction: AmbientTransaction, name: string): Error {
  // Whoever is late need not know where they are.
  transaction.assertOpen();
  return new IdempotencyError(
    'The tx of a handler was used outside of its async context, where its queries would not be in its transaction.',
    {
      existing: `tx.${name} in another context`,
      expected: 'AsyncResource.bind for a callback that loses its context, or the global client in outside()',
    },
  );
}
