import type { Principal } from '../core/scope.ts';

/** How often one caller may ask, and by what a caller who is not signed in is told from another. */
export interface CallerLimit {
  /** How many requests one caller has within `seconds`. Default 120. */
  requests?: number;
  /** Default 30. */
  seconds?: number;
  /**
   * The header in which your proxy writes the address that it has seen, such as `x-real-ip`; of a list, the last entry. Name
   * only one that your proxy sets itself: what a client may send, it may change with each request. Without it nobody's
   * address is known.
   */
  addressHeader?: string | undefined;
}

/** As many callers are told apart at once, so that strangers cannot fill the memory with names. */
const MAX_CALLERS = 10_000;

/**
 * Counts the requests of each caller in this process: of who is signed in by name, of everybody else by address. A name
 * that anybody is given for the asking, `isAnonymous`, would be a new one with each request.
 *
 * @returns `true`, or how many milliseconds to wait
 */
export function callerLimit({ requests = 120, seconds = 30, addressHeader }: CallerLimit) {
  const windowMs = seconds * 1000;
  const counts = new Map<string, { asked: number; until: number }>();
  return ({ headers, method }: Request, who: Principal | null, now = performance.now()): true | number => {
    const caller = nameOf(headers, who, addressHeader);
    // Strangers of whom nothing is known share one count. To ask reads a row of one's own at most; to fence writes one.
    if (caller === STRANGERS && method !== 'DELETE') return true;
    let count = counts.get(caller);
    if (!count || count.until <= now) {
      counts.delete(caller); // the map stays in the order in which windows end
      for (const [name, { until }] of counts) {
        if (until > now && counts.size < MAX_CALLERS) break;
        counts.delete(name);
      }
      count = { asked: 0, until: now + windowMs };
      counts.set(caller, count);
    }
    count.asked += 1;
    return count.asked <= requests || Math.ceil(count.until - now);
  };
}

const STRANGERS = 'everybody else';

function nameOf(headers: Headers, who: Principal | null, addressHeader: string | undefined): string {
  if (who && !who.isAnonymous) return JSON.stringify([who.tenant, who.principal]);
  const address = addressHeader && headers.get(addressHeader)?.split(',').at(-1)?.trim();
  return address ? `at ${address}` : STRANGERS;
}
