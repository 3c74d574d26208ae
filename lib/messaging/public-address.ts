import { BlockList, isIPv4 } from 'node:net';

/** IANA's special-purpose registry: what no stranger's server can have. */
const SPECIAL_IPV4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const;

/** Within 2000::/3, the only part of IPv6 that is given to networks; the rest is not public at all. */
const SPECIAL_IPV6 = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const;

const special4 = new BlockList();
for (const [net, prefix] of SPECIAL_IPV4) special4.addSubnet(net, prefix, 'ipv4');
const special6 = new BlockList();
for (const [net, prefix] of SPECIAL_IPV6) special6.addSubnet(net, prefix, 'ipv6');
const global6 = new BlockList();
global6.addSubnet('2000::', 3, 'ipv6');

/**
 * True for an IP address of the public internet: not of this machine, a private network, a cloud's metadata service,
 * or a range that embeds such an address (IPv4 mapped into IPv6, NAT64, 6to4, Teredo). False for what is no IP address.
 *
 * Source: https://www.iana.org/assignments/iana-ipv4-special-registry and iana-ipv6-special-registry
 */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !special4.check(address, 'ipv4');
  return global6.check(address, 'ipv6') && !special6.check(address, 'ipv6');
}
