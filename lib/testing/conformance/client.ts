import { type IncomingHttpHeaders, request as overHttp } from 'node:http';
import { request as overHttps } from 'node:https';
import type { ConformanceTarget } from './target.ts';

/** A request to the target; what is left out is as it should be. */
export interface Sent {
  method?: string;
  /** Default: the guarded path. */
  path?: string;
  /** Sent in quotes. Null: no such header. */
  key?: string | null;
  /** `Idempotency-Key` as it goes over the wire, instead of `key`; several: several headers. */
  rawKey?: string | string[];
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as it is, instead of `body`. */
  raw?: string | Uint8Array;
  /** The principal who acts. Default: the target's first one. */
  as?: Readonly<Record<string, string>>;
  /** More headers, or other ones; undefined takes one away. */
  headers?: Readonly<Record<string, string | undefined>>;
}

/** An answer, to the byte. */
export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** The body as JSON; an empty object where it is none. */
  json: Record<string, unknown>;
}

const PATIENCE_MS = 30_000;

/**
 * Sends one request and reads its answer to the end. Through `node:http`, because `fetch` joins two headers of one name,
 * and refuses some that others send.
 */
export async function send(target: ConformanceTarget, sent: Sent): Promise<Answer> {
  const { method = target.method ?? 'POST', path = target.path, key = null, as = target.headers } = sent;
  const bytes = sent.raw ?? (sent.body === undefined ? undefined : JSON.stringify(sent.body));
  const headers: Record<string, string | string[] | undefined> = {
    // A server that refuses a large body half-way, and is to close, hangs up on a client that still sends: it would
    // see a broken pipe instead of the answer.
    Connection: 'keep-alive',
    ...as,
    ...(bytes === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': String(lengthOf(bytes)) }),
    ...(key === null ? {} : { 'Idempotency-Key': `"${key}"` }),
    ...(sent.rawKey === undefined ? {} : { 'Idempotency-Key': sent.rawKey }),
    ...sent.headers,
  };
  const given = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
  return await exchange(new URL(path, target.origin), method, given as Record<string, string | string[]>, bytes);
}

function exchange(
  url: URL,
  method: string,
  headers: Record<string, string | string[]>,
  bytes: string | Uint8Array | undefined,
): Promise<Answer> {
  const request = url.protocol === 'https:' ? overHttps : overHttp;
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, headers, agent: false, signal: AbortSignal.timeout(PATIENCE_MS) });
    let isAnswered = false;
    outgoing.on('response', (incoming) => {
      isAnswered = true;
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('error', reject);
      incoming.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text, json: parsed(text) });
      });
    });
    // An error behind the answer does not matter.
    outgoing.on('error', (error) => {
      if (!isAnswered) reject(error);
    });
    outgoing.end(bytes);
  });
}

function lengthOf(bytes: string | Uint8Array): number {
  return typeof bytes === 'string' ? Buffer.byteLength(bytes) : bytes.byteLength;
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
