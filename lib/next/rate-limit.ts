import { assertKnownOptions, type OptionNames } from '../core/options.ts';
import type { Principal } from '../core/scope.ts';

/** How often one caller may ask, and which header tells callers apart who are not signed in. */
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

const OPTIONS: OptionNames<CallerLimit> = { requests: true, seconds: true, addressHeader: true };

/** The most callers that are counted apart at once, so that strangers cannot fill the memory with names. */
const MAX_CALLERS = 10_000;

/**
 * Counts the requests of each caller in this process: of people who are signed in by name, of all others by address. A name
 * that anybody is given for the asking, `isAnonymous`, would be a new one with each request.
 *
 * @returns `true`, or how many milliseconds to wait
 */
export function callerLimit(limit: CallerLimit) {
  assertKnownOptions('The limit of statusRoute', limit, OPTIONS);
  const { requests = 120, seconds = 30, addressHeader } = limit;
  const windowMs = seconds * 1000;
  const counts = new Map<string, { asked: number; until: number }>();
  return ({ headers, method }: Request, principal: Principal | null, now = performance.now()): true | number => {
    const caller = nameOf(headers, principal, addressHeader);
    // Callers without a name and an address share one count. To ask reads a row of one's own at most; to fence writes one.
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

function nameOf(headers: Headers, principal: Principal | null, addressHeader: string | undefined): string {
  if (principal && !principal.isAnonymous) return JSON.stringify([principal.tenant, principal.principal]);
  const address = addressHeader && headers.get(addressHeader)?.split(',').at(-1)?.trim();
  return address ? `at ${address}` : STRANGERS;
}
