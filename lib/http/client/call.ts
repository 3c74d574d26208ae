import { callerLimits } from '../caller-limits.ts';
import { isRepeatable, settleKey } from './call-key.ts';
import type { StoppedBy } from './errors.ts';
import { takePayload } from './payload.ts';
import { requireNumber } from './policy.ts';

/** Methods that change nothing: what they ask for may be elsewhere. */
const READS = new Set(['GET', 'HEAD', 'OPTIONS']);

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

/** One call, settled before anything is sent: what all its attempts have in common. */
export interface Prepared {
  input: RequestInfo | URL;
  /** With the key, the body's bytes and the headers, which each attempt adds its own timeout to. */
  init: RequestInit & { headers: Headers };
  key: string | undefined;
  readBody: boolean;
  origin: string;
  signal: AbortSignal | null;
  /** The caller's limit: its own deadline, or the one that it was given itself and hands on as `X-Request-Timeout`. */
  deadlineMs: number | undefined;
  /** Why it can be sent once only. */
  sentOnce: StoppedBy | undefined;
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
  newKey: () => string,
): Promise<Prepared> {
  const request = input instanceof Request ? input : undefined;
  const method = (given.method ?? request?.method ?? 'GET').toUpperCase();
  const signal = given.signal === undefined ? (request?.signal ?? null) : given.signal;
  const headers = new Headers(given.headers ?? request?.headers);

  if (deadlineMs !== undefined) requireNumber('deadlineMs', deadlineMs, Number.NEGATIVE_INFINITY);
  const limits = callerLimits(headers);
  const key = settleKey(method, headers, givenKey, newKey);
  const { body, contentType, isReplayable } = await takePayload(input, given.body);
  if (contentType !== null && !headers.has('content-type')) headers.set('content-type', contentType);
  // A redirect may take key and body to another origin, or make a GET of a POST, whose answer would count: it is the answer.
  const asked = given.redirect ?? (request?.redirect === 'follow' ? undefined : request?.redirect);
  const redirect = asked ?? (key !== undefined || !READS.has(method) ? 'manual' : 'follow');
  const init = { ...given, headers, redirect, ...(body === null ? {} : { body }) };
  const checked = new Request(request?.url ?? input, {
    ...init,
    method: given.method ?? method,
    body: isReplayable ? body : null,
    signal: null,
  });
  return {
    input,
    init,
    key,
    readBody: readBody ?? key !== undefined,
    origin: new URL(checked.url).origin,
    signal,
    deadlineMs: least(deadlineMs, limits.deadlineMs),
    sentOnce: limits.innerRetries ? unfit(isRepeatable(method, key), isReplayable) : 'retry_layer',
  };
}

function unfit(isRepeatable: boolean, isReplayable: boolean): StoppedBy | undefined {
  if (!isRepeatable) return 'no_key';
  return isReplayable ? undefined : 'body';
}

function least(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}
