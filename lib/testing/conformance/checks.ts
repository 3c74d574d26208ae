import { randomUUID } from 'node:crypto';
import { type IncomingHttpHeaders, request as overHttp } from 'node:http';
import { request as overHttps } from 'node:https';
import { IdempotencyError } from '../../core/errors.ts';
import type { ConformanceTarget, JsonObject } from './target.ts';

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

/** The endpoint does not keep a rule. `existing` is what it did, `expected` what the contract says. */
export class ConformanceError extends IdempotencyError {
  override readonly name = 'ConformanceError';
}

/** A key that was never used. */
export const newKey = (): string => randomUUID();

/** @throws ConformanceError unless both are the same JSON */
export function same(what: string, existing: unknown, expected: unknown): void {
  if (JSON.stringify(existing) === JSON.stringify(expected)) return;
  throw differs(what, existing, expected);
}

/** @throws ConformanceError unless it fits */
export function fits(what: string, existing: unknown, pattern: RegExp): void {
  if (typeof existing === 'string' && pattern.test(existing)) return;
  throw differs(what, existing, String(pattern));
}

/** @throws ConformanceError unless it holds */
export function holds(what: string, isSo: boolean, existing: unknown, expected: unknown): void {
  if (!isSo) throw differs(what, existing, expected);
}

/** Sends what is accepted, under a key that was not used: executed now, by this request. */
export async function executes(target: ConformanceTarget, sent: Sent): Promise<Answer> {
  const answer = await send(target, { body: target.body(), ...sent });
  holds('It is executed', isSuccess(answer), shown(answer), 'a 2xx answer');
  same('Idempotency-Status of the first answer', answer.headers['idempotency-status'], 'stored');
  return answer;
}

/** Has a body executed under a new key. The request, to be sent again, and its answer. */
export async function executesNew(
  target: ConformanceTarget,
): Promise<{ key: string; body: JsonObject; first: Answer }> {
  const request = { key: newKey(), body: target.body() };
  return { ...request, first: await executes(target, request) };
}

/** Sends what was executed before: answered with what is stored. */
export async function replays(target: ConformanceTarget, sent: Sent): Promise<Answer> {
  const answer = await send(target, sent);
  same(`Idempotency-Status of the replay, ${shown(answer)}`, answer.headers['idempotency-status'], 'replayed');
  return answer;
}

/** Sends what is refused, with this status and code. */
export async function refuses(
  target: ConformanceTarget,
  sent: Sent,
  status: number,
  ...codes: string[]
): Promise<Answer> {
  const answer = await send(target, sent);
  holds('The status of the refusal', answer.status === status, shown(answer), status);
  const { code } = answer.json;
  holds('The code of the refusal', codes.includes(String(code)), shown(answer), codes.join(' or '));
  return answer;
}

/** Refuses a request under a new key, as `refuses` does, and uses nothing up: the same key then executes what is right. */
export async function refusesUnused(
  target: ConformanceTarget,
  sent: Sent,
  status: number,
  code: string,
): Promise<void> {
  const key = newKey();
  await refuses(target, { key, ...sent }, status, code);
  await isUnused(target, key);
}

/** Sends a used key with something else: a mismatch, and not executed. */
export async function mismatches(target: ConformanceTarget, sent: Sent & { key: string }): Promise<void> {
  await refuses(target, sent, 422, 'payload_mismatch');
  await hasEffects(target, sent.key, 1);
}

/** Only where the target counts them. */
export async function hasEffects(target: ConformanceTarget, key: string, expected: number): Promise<void> {
  if (target.effects) same('The number of effects', await target.effects(key), expected);
}

/** The key has executed nothing so far, and executes what is right. */
export async function isUnused(target: ConformanceTarget, key: string): Promise<void> {
  await hasEffects(target, key, 0);
  await executes(target, { key });
  await hasEffects(target, key, 1);
}

export function isSuccess({ status }: Answer): boolean {
  return status >= 200 && status < 300;
}

/** An answer in one line. */
export function shown({ status, text }: Answer): string {
  return `${status} ${text.slice(0, 400)}`;
}

function differs(what: string, existing: unknown, expected: unknown): ConformanceError {
  const words = `${what}: existing ${JSON.stringify(existing)}, expected ${JSON.stringify(expected)}`;
  return new ConformanceError(words, { existing, expected });
}
