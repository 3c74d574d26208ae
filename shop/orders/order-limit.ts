import type { Admission } from 'oncekit';
import { type RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';
import { type Query, sharedLimit } from '../api/shared-limit.ts';

/** Generous: a shop's own integration never meets it, a loop that went mad does. */
const DEFAULT_LIMIT = '600/60';

/** `points/seconds`, as in `5/60`: so many new orders in so many seconds. */
export function readLimit(limit = DEFAULT_LIMIT): { points: number; duration: number } {
  const [, points, duration] = /^([1-9]\d{0,6})\/([1-9]\d{0,6})$/.exec(limit) ?? [];
  if (!points) throw new Error(`DEMO_ORDER_LIMIT is "${limit}". Write orders/seconds: ${DEFAULT_LIMIT}`);
  return { points: Number(points), duration: Number(duration) };
}

/** A limit per customer, which all processes share. */
export function orderLimiter(limit: { points: number; duration: number }, query?: Query) {
  return sharedLimit({ name: 'orders.create', ...limit }, query);
}

/** What an order's limit counts by. */
type Caller = Pick<Admission<unknown>, 'scope' | 'isAnonymous' | 'address'>;

/** Tells whether this customer may place another order now; or how many milliseconds to wait. For `admit`. */
export function admitBy(limiter: Pick<RateLimiterPostgres, 'consume'>) {
  return async (caller: Caller) => {
    try {
      await limiter.consume(counted(caller));
      return true;
    } catch (refused) {
      if (refused instanceof RateLimiterRes) return Math.max(1, refused.msBeforeNext);
      // Counted where the claim is made: with the database away, the claim fails closed (503) by itself. What remains
      // is a limiter that is broken alone, and a shop that sells too fast is better than one that sells nothing.
      console.error('[demo] The limit on orders cannot be asked; the order is admitted.', nameOf(refused));
      return true;
    }
  };
}

/** Each new visitor has a new name. Where no proxy tells their addresses, they share one count. */
function counted({ scope: { tenant, principal }, isAnonymous, address = '' }: Caller): string {
  return isAnonymous ? `visitors at ${address}` : `${tenant}:${principal}`;
}

const limiter = orderLimiter(readLimit(process.env.DEMO_ORDER_LIMIT));

/** The `admit` of the operations that place an order. Asked for new keys alone: a replay costs nothing. */
export const admitOrder = admitBy(limiter);

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}
