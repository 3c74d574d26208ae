import { type ClientRequest, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { type Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** They describe one connection, not the message (RFC 9110 §7.6.1). `expect` has been answered by our own server. */
const HOP_BY_HOP = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'upgrade', 'expect'];

export interface AskOptions {
  /** A body read before; without it the client's body is streamed. */
  body?: Buffer;
  /** Breaks the request off. Without it the app gets the request even when the client has left. */
  signal?: AbortSignal;
  /** Called once the whole request has been written to the app. */
  onSent?: () => void;
  /** Asks the app not to compress its answer: it is read here, or cut at a place that a test has chosen. */
  isPlain?: boolean;
}

/**
 * Sends the client's request to the app and resolves with the head of its answer. `Host` stays as the client sent it:
 * Next compares it with `Origin` before it runs a server action.
 */
export function askApp(req: IncomingMessage, target: URL, { body, signal, onSent, isPlain }: AskOptions = {}) {
  return new Promise<IncomingMessage>((resolve, reject) => {
    // No agent: a pooled connection that the app has just closed would look like a fault that nobody asked for.
    const out: ClientRequest = request({
      host: target.hostname,
      port: target.port,
      method: req.method,
      path: req.url,
      headers: without(requestHeaders(req, body), isPlain ? ['accept-encoding'] : []),
      agent: false,
      signal,
    });
    out.on('error', reject);
    out.on('response', (answer) => {
      answer.on('error', () => {}); // whoever reads the answer hears of it; nobody else must crash
      resolve(answer);
    });
    // The app may answer, and hang up, before it has read all. The rest of the body must not stay in the client's
    // connection: the next request on it would wait for ever.
    out.on('close', () => req.resume());
    if (onSent) out.on('finish', onSent);
    if (body) out.end(body);
    else req.pipe(out);
  });
}

/** Hands the app's answer to the client, streaming, or with a body that was read before. */
export async function deliver(answer: IncomingMessage, res: ServerResponse, closeAfter: boolean, held?: Buffer) {
  const headers = without(answer.rawHeaders, [...HOP_BY_HOP, 'transfer-encoding']);
  if (closeAfter) headers.push('Connection', 'close');
  res.writeHead(answer.statusCode ?? 502, answer.statusMessage, headers);
  res.flushHeaders();
  await pipeline(held ? Readable.from(held.length > 0 ? [held] : []) : answer, res);
}

/**
 * Hands the client the head of the app's answer and the first part of its body. No length is announced, so that even a
 * whole body lacks its end. Resolves when the bytes have left.
 */
export async function deliverPart(answer: IncomingMessage, res: ServerResponse, part: Buffer): Promise<void> {
  const headers = without(answer.rawHeaders, [...HOP_BY_HOP, 'transfer-encoding', 'content-length']);
  res.writeHead(answer.statusCode ?? 502, answer.statusMessage, headers);
  await new Promise((resolve) => res.write(part, resolve));
}

/** Joins an upgraded connection (hot reload's websocket) with the app, byte for byte. */
export function tunnel(req: IncomingMessage, client: Duplex, head: Buffer, target: URL): void {
  const app = connect(Number(target.port), target.hostname, () => {
    const lines = [`${req.method} ${req.url} HTTP/${req.httpVersion}`];
    for (let i = 0; i < req.rawHeaders.length; i += 2) lines.push(`${req.rawHeaders[i]}: ${req.rawHeaders[i + 1]}`);
    app.write(`${lines.join('\r\n')}\r\n\r\n`);
    app.write(head);
    client.pipe(app).pipe(client);
  });
  for (const [one, other] of [
    [app, client],
    [client, app],
  ] as const) {
    one.on('error', () => other.destroy());
    one.on('close', () => other.destroy());
  }
}

function requestHeaders(req: IncomingMessage, body?: Buffer): string[] {
  if (!body) return without(req.rawHeaders, HOP_BY_HOP);
  const headers = without(req.rawHeaders, [...HOP_BY_HOP, 'content-length', 'transfer-encoding']);
  const declared = 'content-length' in req.headers || 'transfer-encoding' in req.headers;
  if (declared) headers.push('Content-Length', String(body.length));
  return headers;
}

/** Raw name-value pairs, so that repeated headers (`Set-Cookie`) and their spelling survive. */
function without(rawHeaders: string[], names: string[]): string[] {
  const kept: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [name = '', value = ''] = rawHeaders.slice(i, i + 2);
    if (!names.includes(name.toLowerCase())) kept.push(name, value);
  }
  return kept;
}
