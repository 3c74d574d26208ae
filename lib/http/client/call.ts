import { assertSetUp } from '../../core/errors.ts';
import { isKey } from '../../core/scope.ts';
import { callerLimits, keyOfHeader } from '../request-headers.ts';
import type { StoppedBy } from './errors.ts';

const KEY_HEADER = 'Idempotency-Key';

/** Methods that change nothing: what they ask for may be elsewhere. */
const READS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Methods that may be sent again by definition (RFC 9110, 9.2.2; QUERY by its draft). All others need a key. */
const IDEMPOTENT = new Set([...READS, 'TRACE', 'PUT', 'DELETE', 'QUERY']);

/** Methods that get a key where the caller gave none. */
const GETS_KEY = new Set(['POST', 'PATCH']);

/** The options of fetch, and those that one call may set for itself. */
export interface RetryingInit extends RequestInit {
  /** The key of this intent: pass the same again after a `NoAnswerError`. `false` makes none, and POST is sent once. */
  key?: string | false;
  /** Instead of the policy's, in milliseconds. */
  deadlineMs?: number;
  /**
   * Waits for the body, as far as 1 MiB, before it answers, so that a connection that breaks in its middle is tried again.
   * Default: true for a call with a key, except for an event stream.
   */
  readBody?: boolean;
}

/**
 * Settles key, body and headers, and refuses what fetch would refuse, before anything is sent: fetch itself throws a
 * TypeError for a bad URL as for a lost connection, and a bad URL would be tried five times.
 *
 * @throws TypeError as fetch does; ConfigurationError for a bad key or deadline
 */
export async function prepare(
  input: RequestInfo | URL,
  { key: givenKey, deadlineMs, readBody, ...given }: RetryingInit,
  newKey: () => string = randomKey,
) {
  const request = input instanceof Request ? input : undefined;
  const method = (given.method ?? request?.method ?? 'GET').toUpperCase();
  const signal = given.signal === undefined ? (request?.signal ?? null) : given.signal;
  const headers = new Headers(given.headers ?? request?.headers);

  const facts = { existing: deadlineMs, expected: Number.NEGATIVE_INFINITY };
  assertSetUp(deadlineMs === undefined || deadlineMs >= facts.expected, 'deadlineMs must be a number.', facts);
  const limits = callerLimits(headers);
  const key = settleKey(method, headers, givenKey, newKey);
  const body = await settleBody(given.body ?? null, request, headers);
  // A redirect may take key and body to another origin, or make a GET of a POST, whose answer would count: it is the answer.
  const asked = given.redirect ?? (request?.redirect === 'follow' ? undefined : request?.redirect);
  const redirect = asked ?? (key !== undefined || !READS.has(method) ? 'manual' : 'follow');
  const init = { ...given, headers, redirect, ...(body === null ? {} : { body }) };
  const checked = new Request(request?.url ?? input, {
    ...init,
    method: given.method ?? method,
    body: isStream(body) ? null : body,
    signal: null,
  });
  return {
    input,
    // With the key, the body's bytes and the headers, which each attempt adds its own timeout to.
    init,
    key,
    readBody: readBody ?? key !== undefined,
    origin: new URL(checked.url).origin,
    signal,
    // The caller's limit: its own deadline, or the one that it was given itself and hands on as `X-Request-Timeout`.
    deadlineMs: least(deadlineMs, limits.deadlineMs),
    // Why it can be sent once only.
    sentOnce: limits.innerRetries ? whyOnce(method, key, body) : ('retry_layer' as const),
  };
}

/** One call, settled before anything is sent: what all its attempts have in common. */
export type Prepared = Readonly<Awaited<ReturnType<typeof prepare>>>;

/**
 * Settles the key of one call, once, and writes it into `headers`: every attempt sends the same one. The caller's `key`
 * wins, then the caller's header, which is sent as it stands; with `false` there is none but the header's.
 *
 * @returns the bare key, without its quotes
 * @throws ConfigurationError for a key that no server of the kit takes (K1)
 */
function settleKey(
  method: string,
  headers: Headers,
  given: string | false | undefined,
  newKey: () => string,
): string | undefined {
  const own = headers.get(KEY_HEADER);
  // A value that is no key is still the same in all attempts: the server refuses it.
  if (typeof given !== 'string' && own) return keyOfHeader(own) ?? undefined;
  const key = given ?? (GETS_KEY.has(method) ? newKey() : false);
  if (key === false) return;
  assertSetUp(isKey(key), 'A key is 1 to 255 visible ASCII characters without comma and quotes.', { existing: key });
  headers.set(KEY_HEADER, `"${key.replaceAll('\\', '\\\\')}"`);
  return key;
}

/**
 * Takes the body once, so that every attempt sends the same bytes, also when the caller goes on filling the form: a
 * server that compares the content of a key would refuse anything else. Its type, with the boundary of a form, goes into
 * `headers`, unless the caller names one. A stream is passed on and can be sent once.
 *
 * @throws TypeError for a Request whose body has been read: nothing was sent
 */
async function settleBody(
  given: BodyInit | null,
  request: Request | undefined,
  headers: Headers,
): Promise<BodyInit | null> {
  // The type of a request's own body is among its headers already.
  if (given === null) return request && (request.body || request.bodyUsed) ? await request.blob() : null;
  if (isStream(given)) return given;
  // Response encodes as fetch does, and tells the type; it does so once, where fetch would draw a new boundary each time.
  const encoded = new Response(given);
  const type = encoded.headers.get('content-type');
  if (type !== null && !headers.has('content-type')) headers.set('content-type', type);
  return await encoded.blob();
}

/** A ReadableStream, or the async iterable that Node takes as well. A string or FormData is iterable, but not async. */
function isStream(body: BodyInit | null): boolean {
  return typeof body === 'object' && body !== null && (body instanceof ReadableStream || Symbol.asyncIterator in body);
}

function whyOnce(method: string, key: string | undefined, body: BodyInit | null): StoppedBy | undefined {
  if (key === undefined && !IDEMPOTENT.has(method)) return 'no_key';
  return isStream(body) ? 'body' : undefined;
}

function least(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

/** 122 random bits. `randomUUID` is missing from pages served without TLS; random bytes are not. */
function randomKey(): string {
  if (crypto.randomUUID) return crypto.randomUUID();
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
