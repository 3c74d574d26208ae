import { decorrelatedJitter, equalJitter, fullJitter, parseHttpDate, parseRetryAfter } from '../../core/backoff.ts';
import { type CircuitBreaker, circuitBreakers, type Health } from '../../core/circuit-breaker.ts';
import { tryOr } from '../../core/errors.ts';
import { sleep } from '../../core/wait.ts';
import { type Prepared, prepare, type RetryingInit } from './call.ts';
import { CircuitOpenError, NoAnswerError, type StoppedBy } from './errors.ts';
import {
  type BreakerOptions,
  completeBreaker,
  completePolicy,
  RetryBudget,
  type RetryBudgetOptions,
  type RetryPolicy,
} from './policy.ts';
import { type Clock, sendOnce } from './send-once.ts';

/** Why an attempt is worth another: its status, or how it was lost. */
export type RetryReason = 'timeout' | 'network' | `status ${number}`;

/** The events that an application may want to count. `attempt` is 1 for the first. */
export interface ClientHooks {
  /** After each attempt, however it ended: with a `status`, or without an answer. */
  onAttempt?: (event: { attempt: number; key: string | undefined; tookMs: number; status?: number }) => void;
  /** Before each wait. `attempt` is the one that has failed. */
  onRetry?: (event: { attempt: number; delayMs: number; reason: RetryReason; key: string | undefined }) => void;
  /** When a failure that could have been tried again is handed back, or thrown; and when the caller aborts. */
  onGiveUp?: (event: {
    attempts: number;
    stoppedBy: StoppedBy;
    reason: RetryReason | undefined;
    key: string | undefined;
  }) => void;
}

/** How patient the client is. Without any of them it is as `createRetryingFetch` says. */
export interface RetryingFetchOptions extends ClientHooks {
  policy?: Partial<RetryPolicy>;
  /** `false` retries without a budget. */
  budget?: Partial<RetryBudgetOptions> | false;
  /** `false` goes on sending to an origin that is down. */
  breaker?: Partial<BreakerOptions> | false;
  /** The function that sends. Default: the global fetch, as it is at each call. */
  fetch?: typeof fetch;
  /** Makes the key of a POST or PATCH that has none. Default: a random UUID. */
  newKey?: () => string;
  /** Sends `X-Request-Timeout`, the milliseconds an attempt may take, so that the server stops in time. Default true. */
  tellTimeout?: boolean;
  /** Sends `X-Retry-Layer: none`: layers behind this one shall not retry too, or attempts multiply. Default false. */
  tellRetryLayer?: boolean;
  /** For tests: simulated time and chance. */
  clock?: Partial<Clock>;
}

/** The real one. It looks its functions up at each call, so that fake timers reach it. */
const SYSTEM_CLOCK: Clock = { now: () => Date.now(), random: () => Math.random(), sleep };

/** `fetch`, with three more settings a call. */
export type RetryingFetch = (input: RequestInfo | URL, init?: RetryingInit) => Promise<Response>;

/**
 * A fetch that tries again where that is safe and may help, with the same key and the same bytes each time, so that the
 * server does it once. Its calls share one retry budget, and one circuit breaker for each origin: make one client,
 * not one a call. An answer is an answer, as with fetch: the last one is returned, whatever its status. A redirect of a call that
 * has a key or changes something is one, too, unless you say `redirect: 'follow'`: it could lead key and body anywhere.
 *
 * The function throws `NoAnswerError` when the last attempt brought none, `CircuitOpenError` when nothing was sent, the
 * signal's reason when the caller aborts, and what fetch refuses to send (TypeError).
 *
 * @throws ConfigurationError for options that cannot be meant
 */
export function createRetryingFetch(options: RetryingFetchOptions = {}): RetryingFetch {
  const client = clientOf(options);
  const breakerOf = options.breaker === false ? undefined : circuitBreakers(completeBreaker(options.breaker));

  return async (input, init = {}) => {
    const startedAt = client.clock.now();
    const call = await prepare(input, init, options.newKey);
    call.signal?.throwIfAborted();
    return run(client, call, startedAt + (call.deadlineMs ?? client.policy.deadlineMs), breakerOf?.(call.origin));
  };
}

/** What the calls of one client share. */
function clientOf(options: RetryingFetchOptions) {
  return {
    options,
    policy: completePolicy(options.policy),
    budget: options.budget === false ? undefined : new RetryBudget(options.budget),
    clock: { ...SYSTEM_CLOCK, ...options.clock },
    fetch: options.fetch ?? ((...args: Parameters<typeof fetch>) => globalThis.fetch(...args)),
  };
}

type Client = ReturnType<typeof clientOf>;

type Reply = Awaited<ReturnType<typeof sendOnce>>;
type Ended = Exclude<Reply, { type: 'aborted' }>;

async function run(client: Client, call: Prepared, endsAt: number, breaker?: CircuitBreaker): Promise<Response> {
  const { options, policy, budget, clock } = client;
  const { key, signal } = call;
  let last: { reply: Ended; reason: RetryReason } | undefined;
  let previousMs = policy.baseMs;

  for (let attempt = 1; ; attempt++) {
    // A timer may be late, and a caller may have used up its time: what is sent now would be lost for certain.
    if (clock.now() >= endsAt) return giveUp(attempt - 1, 'deadline');
    // While one call tries whether the origin is back, the others are refused rather than queued behind it: their deadlines go on.
    if (breaker?.isTried || breaker?.retryAfterMs) {
      if (last) return giveUp(attempt - 1, 'circuit');
      throw new CircuitOpenError({ origin: call.origin, key, retryAfterMs: breaker.retryAfterMs });
    }
    // The former answer was kept until now, in case that it stays the last one; unread, it would hold its connection.
    if (last) discard(last.reply);
    else budget?.earn();
    const send = () => sendAttempt(client, call, attempt, endsAt);
    const reply = breaker ? await breaker.run(send, healthOf) : await send();
    if (reply.type === 'aborted') return giveUp(attempt, 'aborted');

    const reason = retryReason(reply);
    if (!reason && reply.type === 'answered') return reply.response;
    last = { reply, reason: reason as RetryReason };

    const computedMs = computedDelayMs(attempt, previousMs, policy, clock.random());
    previousMs = computedMs;
    const delayMs = askedDelayMs(reply, clock.now()) ?? computedMs;
    const stoppedBy = call.sentOnce ?? whatStops(attempt, delayMs);
    if (stoppedBy) return giveUp(attempt, stoppedBy);
    callHook(options.onRetry, { attempt, delayMs, reason: last.reason, key });
    await clock.sleep(delayMs, signal ?? NEVER);
    if (signal?.aborted) return giveUp(attempt, 'aborted');
  }

  function whatStops(attempt: number, delayMs: number): StoppedBy | undefined {
    if (attempt >= policy.attempts) return 'attempts';
    if (clock.now() + delayMs >= endsAt) return 'deadline';
    if (breaker && breaker.retryAfterMs > delayMs) return 'circuit';
    // Last, for it takes the token.
    return budget && !budget.spend() ? 'budget' : undefined;
  }

  function giveUp(attempts: number, stoppedBy: StoppedBy): Response {
    callHook(options.onGiveUp, { attempts, stoppedBy, reason: last?.reason, key });
    if (stoppedBy === 'aborted') throw signal?.reason;
    if (last?.reply.type === 'answered') return last.reply.response;
    throw new NoAnswerError({ attempts, key, stoppedBy, cause: last?.reply.error });
  }
}

async function sendAttempt(client: Client, call: Prepared, attempt: number, endsAt: number): Promise<Reply> {
  const { options, policy, clock } = client;
  const startedAt = clock.now();
  const timeoutMs = Math.max(1, Math.floor(Math.min(policy.attemptTimeoutMs, endsAt - startedAt)));
  const headers = new Headers(call.init.headers);
  if (options.tellTimeout !== false) headers.set('X-Request-Timeout', String(timeoutMs));
  if (options.tellRetryLayer) headers.set('X-Retry-Layer', 'none');
  const reply = await sendOnce({
    send: (signal) => client.fetch(call.input, { ...call.init, headers, signal }),
    readBody: call.readBody,
    timeoutMs,
    signal: call.signal,
    clock,
  });
  const status = reply.type === 'answered' ? { status: reply.response.status } : {};
  callHook(options.onAttempt, { attempt, key: call.key, tookMs: clock.now() - startedAt, ...status });
  return reply;
}

/**
 * The wait before retry number `retry` (1 for the first), where the server does not say.
 *
 * @param previousMs the computed wait before this one; `baseMs` before the first
 */
function computedDelayMs(retry: number, previousMs: number, policy: RetryPolicy, random: number): number {
  if (policy.jitter === 'decorrelated') return decorrelatedJitter(previousMs, policy, random);
  return policy.jitter === 'full' ? fullJitter(retry, policy, random) : equalJitter(retry, policy, random);
}

/**
 * Says why the same request may fare better later: it was lost, or answered with 429, 5xx, or 409 and `Retry-After`, by which
 * the kit says `in_flight` and `outcome_unknown`. Undefined for any other 4xx, which stands, and for every answer that the
 * server has stored: it would only be replayed.
 */
function retryReason(reply: Ended): RetryReason | undefined {
  if (reply.type === 'lost') return reply.reason;
  const { status, headers } = reply.response;
  if (headers.has('idempotency-status')) return;
  const asksToWait = status === 409 && headers.has('retry-after');
  return status === 429 || status >= 500 || asksToWait ? `status ${status}` : undefined;
}

/** The wait that the server asks for, in milliseconds. A date is read by the server's own clock where it shows it. */
function askedDelayMs(reply: Reply, nowMs: number): number | undefined {
  if (reply.type !== 'answered') return;
  const { headers } = reply.response;
  return parseRetryAfter(headers.get('retry-after'), parseHttpDate(headers.get('date')) ?? nowMs);
}

/** What an attempt says of its origin. A refusal below 500, 429 included, comes from one that is up. */
function healthOf(reply: Reply): Health {
  if (reply.type === 'aborted') return 'unsaid';
  return reply.type === 'answered' && reply.response.status < 500 ? 'up' : 'down';
}

function discard(reply: Ended): void {
  if (reply.type === 'answered') reply.response.body?.cancel().catch(() => {});
}

const NEVER = new AbortController().signal;

/** Calls a hook. An error of the hook does not fail the request. */
function callHook<E>(hook: ((event: E) => void) | undefined, event: E): void {
  tryOr(() => hook?.(event));
}
