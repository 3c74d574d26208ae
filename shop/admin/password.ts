import { RateLimiterRes } from 'rate-limiter-flexible';
import { sharedLimit } from '../api/shared-limit.ts';
import { required } from '../env.ts';
import { sameSecret } from '../session/accounts.ts';

/** From where a password comes. */
export interface Origin {
  address: string;
  /** Only where the admin has signed in before, in this browser. */
  device?: string | undefined;
}

/** `waitMs`: the password was not looked at, and none will be for so long. */
export type Tried = 'right' | 'wrong' | { waitMs: number };

/** Wrong passwords of one address or one device. */
const each = sharedLimit({ name: 'admin-password', points: 5, duration: 600 });
/** Wrong passwords of all addresses together: whoever has many of them gets no further. */
const all = sharedLimit({ name: 'admin-passwords', points: 30, duration: 60 });
const EVERYBODY = 'everybody';

/**
 * Looks at a password, unless too many wrong ones came: from this address, or from all together. What strangers do
 * never locks out a browser in which the admin has signed in before, and others for as long as it lasts (the idea is
 * OWASP's device cookies). Counted before it is looked at, so that a hundred at once do not all get in front of the count.
 *
 * @throws when the database is away: who cannot count lets nobody in
 */
export async function tryPassword(given: string, { address, device }: Origin): Promise<Tried> {
  const who = device ? `device ${device}` : `address ${placeOf(address)}`;
  const waitMs = (await refused(each, who)) ?? (device ? undefined : await refused(all, EVERYBODY));
  if (waitMs !== undefined) return { waitMs };
  if (!sameSecret(required('ADMIN_PASSWORD'), given)) return 'wrong';
  await each.delete(who);
  if (!device) await all.reward(EVERYBODY);
  return 'right';
}

/** Counts one attempt. For how many milliseconds there are none left; undefined where it was one of those allowed. */
async function refused(limit: typeof each, who: string): Promise<number | undefined> {
  try {
    await limit.consume(who);
    return undefined;
  } catch (error) {
    if (error instanceof RateLimiterRes) return Math.max(1, error.msBeforeNext);
    throw error;
  }
}

/** An IPv6 address belongs to a network of which one customer has all, so the network counts. */
function placeOf(address: string): string {
  const isMapped = /^::ffff:\d+\.\d+\.\d+\.\d+$/i.test(address);
  if (isMapped || !address.includes(':')) return address.slice(0, 64);
  const [head = '', tail] = address.split('::', 2);
  const [first, last] = [head, tail ?? ''].map((part) => (part ? part.split(':') : []));
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - (first?.length ?? 0) - (last?.length ?? 0));
  const groups = [...(first ?? []), ...Array<string>(zeros).fill('0'), ...(last ?? [])];
  return `${groups
    .slice(0, 4)
    .map((group) =>
      group
        .toLowerCase()
        .replace(/^0+(?=.)/, '')
        .slice(0, 4),
    )
    .join(':')}::/64`;
}
