import { callerAddress } from '../core/caller-address.ts';
import { assertKnownOptions, optionNames } from '../core/options.ts';
import type { Principal } from '../core/scope.ts';

/** How often one caller may ask. */
export interface CallerLimit {
  /** How many requests one caller has within `seconds`. Of one address come ten times as many, whoever sends them. Default 120. */
  requests?: number;
  /** Default 30. */
  seconds?: number;
}

const OPTIONS = optionNames<CallerLimit>()('requests seconds');

/** The most callers that are counted apart at once, so that strangers cannot fill the memory with names. */
const MAX_CALLERS = 10_000;

/** Behind one address may be the people of a whole company. */
const PER_ADDRESS = 10;

/**
 * Counts the requests of each caller in this process: of people who are signed in by name, of all others by address. A name
 * that anybody is given for the asking, `isAnonymous`, would be a new one with each request. Each answer is `true`, or how
 * many milliseconds to wait.
 *
 * @param addressHeader of `createIdempotency`
 */
export function callerLimit(limit: CallerLimit, addressHeader: string | undefined) {
  assertKnownOptions('The limit of statusRoute', limit, OPTIONS);
  const { requests = 120, seconds = 30 } = limit;
  const addresses = counter(requests * PER_ADDRESS, seconds * 1000);
  const strangers = counter(requests, seconds * 1000);
  const people = counter(requests, seconds * 1000);
  return {
    /** Is asked before anything else: who acts may be a question to the database. */
    byAddress({ headers }: Request, now = performance.now()): true | number {
      const address = callerAddress(headers, addressHeader);
      return address === undefined || addresses(address, now);
    },
    byCaller({ headers, method }: Request, principal: Principal | null, now = performance.now()): true | number {
      if (principal && !principal.isAnonymous)
        return people(JSON.stringify([principal.tenant, principal.principal]), now);
      const address = callerAddress(headers, addressHeader);
      // Callers without a name and an address share one count. To ask reads a row of one's own at most; to fence writes one.
      return (address === undefined && method !== 'DELETE') || strangers(address ?? EVERYBODY_ELSE, now);
    },
  };
}

/** No address, and no name either. */
const EVERYBODY_ELSE = '';

/** Counts in windows. A caller who finds no room shares one count with all who find none: nobody's count is dropped for it. */
function counter(most: number, windowMs: number) {
  const counts = new Map<string, { asked: number; until: number }>(); // in the order in which they end
  return (caller: string, now: number): true | number => {
    for (const [name, { until }] of counts) {
      if (until > now) break;
      counts.delete(name);
    }
    const name = counts.has(caller) || counts.size < MAX_CALLERS ? caller : EVERYBODY_ELSE;
    const count = counts.get(name) ?? { asked: 0, until: now + windowMs };
    counts.set(name, count);
    count.asked += 1;
    return count.asked <= most || Math.ceil(count.until - now);
  };
}
