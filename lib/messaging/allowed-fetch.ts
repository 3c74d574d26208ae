import { type LookupAddress, lookup } from 'node:dns';
import http from 'node:http';
import https from 'node:https';
import { BlockList, isIP, isIPv4, type LookupFunction } from 'node:net';
import { Readable } from 'node:stream';
import { tryOr } from '../core/errors.ts';
import { returned } from '../core/options.ts';

/** True for an IP address to which a connection may be made. Where it throws, none may. */
export type AllowAddress = (address: string) => boolean;

/** The error for a host without an address to which a connection may be made. Nothing was sent. */
function addressNotAllowed(): Error {
  const facts = { name: 'AddressNotAllowedError', code: 'ERR_ADDRESS_NOT_ALLOWED' };
  return Object.assign(new Error('The host has no address that is allowed.'), facts);
}

/** As long as `fetch` keeps a connection that nobody uses. */
const IDLE_MS = 4000;

type Send = (
  target: URL,
  init: { body: string; headers: Record<string, string>; signal: AbortSignal },
) => Promise<Response>;

/**
 * POSTs to hosts of strangers, and connects to allowed addresses alone. The check is part of the connection's own look-up:
 * what was checked is what is connected to, and a name that says something else a moment later (DNS rebinding) is asked no
 * second time. Redirects are not followed. Proxies of the environment are not used: they would look the name up themselves.
 * A connection that nobody uses is closed after four seconds.
 *
 * @param resolve for tests
 */
export function allowedFetch(allow: AllowAddress, resolve: typeof lookup = lookup): Send {
  // A socket times out when nothing has gone over it for so long: the agent then drops it if it is free. An attempt that waits
  // for its answer goes on, until its signal ends it.
  const idle = { keepAlive: true, timeout: IDLE_MS };
  const agents = { 'http:': new http.Agent(idle), 'https:': new https.Agent(idle) };
  const isBoolean = (said: unknown) => typeof said === 'boolean';
  const isAllowed: AllowAddress = (address) =>
    tryOr(() => returned<boolean>('allowAddress', allow(address), isBoolean, 'true or false'), false);
  const look = allowedLookup(isAllowed, resolve);
  return async (target, init) => {
    try {
      const host = target.hostname.replace(/^\[|\]$/g, '');
      // An address is not looked up, so it is checked here. The URL has written it out: 0x7f.1 is 127.0.0.1.
      if (isIP(host) && !isAllowed(host)) throw addressNotAllowed();
      return await post(target, init, { agent: agents[target.protocol as keyof typeof agents], lookup: look });
    } catch (cause) {
      throw new TypeError('fetch failed', { cause }); // as `fetch` does
    }
  };
}

/** A look-up that finds allowed addresses alone. */
function allowedLookup(allow: AllowAddress, resolve: typeof lookup): LookupFunction {
  return (host, options, answer) => {
    resolve(host, { ...options, all: true }, (error, found: LookupAddress[]) => {
      if (error) return answer(error, '');
      const allowed = found.filter(({ address }) => allow(address));
      const [first] = allowed;
      if (!first) return answer(addressNotAllowed(), '');
      if (options.all) return answer(null, allowed);
      answer(null, first.address, first.family);
    });
  };
}

function post(
  target: URL,
  { body, headers, signal }: Parameters<Send>[1],
  connection: Pick<http.RequestOptions, 'agent' | 'lookup'>,
): Promise<Response> {
  const { request } = target.protocol === 'https:' ? https : http;
  const length = { 'content-length': Buffer.byteLength(body) };
  const options = { ...connection, method: 'POST', signal, headers: { ...headers, ...length } };
  return new Promise((resolve, reject) => {
    const sent = request(target, options, (incoming) => {
      try {
        resolve(responseOf(incoming));
      } catch (error) {
        incoming.destroy();
        reject(error);
      }
    });
    // Closed without an error and without an answer, as behind "101 Switching Protocols".
    const unanswered = () => reject(Object.assign(new Error('Closed without an answer.'), { code: 'ERR_NO_ANSWER' }));
    sent.on('error', reject).on('close', unanswered).end(body);
  });
}

function responseOf(incoming: http.IncomingMessage): Response {
  const status = incoming.statusCode ?? 0;
  const headers = new Headers();
  for (const name of ['retry-after', 'date'] as const) {
    const value = incoming.headers[name];
    if (value) headers.set(name, value);
  }
  const isEmpty = [204, 205, 304].includes(status);
  // Behind a 205 there may be a body all the same, and one without an end.
  if (status === 205) incoming.destroy();
  else if (isEmpty) incoming.resume();
  return new Response(isEmpty ? null : (Readable.toWeb(incoming) as ReadableStream), { status, headers });
}

/** IANA's special-purpose registry: what no stranger's server can have. */
const SPECIAL4 =
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 ' +
  '192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3';
const SPECIAL6 = '2001::/23 2001:db8::/32 2002::/16 3fff::/20';

const special = new BlockList();
for (const range of `${SPECIAL4} ${SPECIAL6}`.split(' ')) {
  const [net = '', prefix] = range.split('/');
  special.addSubnet(net, Number(prefix), isIPv4(net) ? 'ipv4' : 'ipv6');
}
/** The only part of IPv6 that is given to networks; the rest is not public at all. */
const global6 = new BlockList();
global6.addSubnet('2000::', 3, 'ipv6');

/**
 * True for an IP address of the public internet: not of this machine, a private network, a cloud's metadata service,
 * or a range that embeds such an address (IPv4 mapped into IPv6, NAT64, 6to4, Teredo). False for what is no IP address.
 *
 * Source: https://www.iana.org/assignments/iana-ipv4-special-registry and iana-ipv6-special-registry
 */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !special.check(address, 'ipv4');
  return global6.check(address, 'ipv6') && !special.check(address, 'ipv6');
}
