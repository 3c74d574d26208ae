import { type LookupAddress, lookup } from 'node:dns';
import http from 'node:http';
import https from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { Readable } from 'node:stream';

/** True for an IP address to which a connection may be made. */
export type AllowAddress = (address: string) => boolean;

/** A host has no address to which a connection may be made. Nothing was sent. */
export class AddressNotAllowedError extends Error {
  override readonly name = 'AddressNotAllowedError';
  readonly code = 'ERR_ADDRESS_NOT_ALLOWED';

  constructor() {
    super('The host has no address that is allowed.');
  }
}

type Send = (
  target: URL,
  init: { body: string; headers: Record<string, string>; signal: AbortSignal },
) => Promise<Response>;

/**
 * POSTs to hosts of strangers, and connects to allowed addresses alone. The check is part of the connection's own look-up:
 * what was checked is what is connected to, and a name that says something else a moment later (DNS rebinding) is asked no
 * second time. Redirects are not followed. Proxies of the environment are not used: they would look the name up themselves.
 *
 * @param resolve for tests
 */
export function allowedFetch(allow: AllowAddress, resolve: typeof lookup = lookup): Send {
  const agents = { 'http:': new http.Agent({ keepAlive: true }), 'https:': new https.Agent({ keepAlive: true }) };
  const look: LookupFunction = (host, options, answer) => {
    resolve(host, { ...options, all: true }, (error, found: LookupAddress[]) => {
      if (error) return answer(error, '');
      const allowed = found.filter(({ address }) => allow(address));
      const [first] = allowed;
      if (!first) return answer(new AddressNotAllowedError(), '');
      if (options.all) return answer(null, allowed);
      answer(null, first.address, first.family);
    });
  };
  return (target, { body, headers, signal }) =>
    new Promise((done, failed) => {
      // As `fetch` says it: what happened is the cause.
      const fail = (cause: unknown) => failed(new TypeError('fetch failed', { cause }));
      const host = target.hostname.replace(/^\[|\]$/g, '');
      // An address is not looked up, so it is checked here. The URL has written it out: 0x7f.1 is 127.0.0.1.
      if (isIP(host) && !allow(host)) return fail(new AddressNotAllowedError());
      const protocol = target.protocol as keyof typeof agents;
      const { request } = protocol === 'https:' ? https : http;
      const sent = request(
        target,
        {
          method: 'POST',
          agent: agents[protocol],
          lookup: look,
          signal,
          headers: { ...headers, 'content-length': Buffer.byteLength(body) },
        },
        (incoming) => {
          try {
            done(responseOf(incoming));
          } catch (error) {
            incoming.destroy();
            fail(error);
          }
        },
      );
      sent.on('error', fail).end(body);
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
  if (isEmpty) incoming.resume();
  return new Response(isEmpty ? null : (Readable.toWeb(incoming) as ReadableStream), { status, headers });
}
