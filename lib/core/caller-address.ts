import { isIPv6 } from 'node:net';

/**
 * Where a caller is, as limits count it: an address of IPv4, and of IPv6 the /64, of which one subscriber has every address. It
 * has no port. What is no address counts as it is. Undefined where the header is not configured or not sent.
 *
 * @param header the one in which the app's proxy writes the address that it has seen; of a list the last entry
 */
export function callerAddress(headers: Headers, header: string | undefined): string | undefined {
  const seen = header && headers.get(header)?.split(',').at(-1)?.trim();
  if (!seen) return undefined;
  const [, inBrackets] = /^\[(.*)\](?::\d+)?$/.exec(seen) ?? [];
  const [address = ''] = (inBrackets ?? (isIPv6(seen) ? seen : seen.replace(/:\d+$/, ''))).split('%');
  return isIPv6(address) ? networkOf(address) : address.slice(0, MAX_LENGTH);
}

/** Of what is no address: limits keep it in memory. */
const MAX_LENGTH = 64;

const MAPPED = '0:0:0:0:0:ffff';

/** The /64; of an IPv4 address that is written as one of IPv6, that address. */
function networkOf(address: string): string {
  const [head = '', tail = ''] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const [before, behind] = [head, tail].map((part) => part.split(':').filter(Boolean)) as [string[], string[]];
  const groups = [...before, ...Array<string>(8 - before.length - behind.length).fill('0'), ...behind];
  if (groups.slice(0, 6).join(':') !== MAPPED) return `${groups.slice(0, 4).join(':')}::/64`;
  return groups
    .slice(6)
    .map((group) => Number.parseInt(group, 16))
    .flatMap((two) => [two >> 8, two & 255])
    .join('.');
}
