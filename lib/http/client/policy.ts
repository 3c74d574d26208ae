import { decorrelatedJitter, equalJitter, fullJitter, parseHttpDate, parseRetryAfter } from '../../core/backoff.ts';
import { ConfigurationError } from '../../core/errors.ts';
import type { Reply } from './send-once.ts';

/** When one call tries again, and when it stops. */
export interface RetryPolicy {
  /** Attempts in all, the first one included. Default 5. */
  attempts: number;
  /** How the computed waits are spread. Default 'full'. */
  jitter: 'full' | 'equal' | 'decorrelated';
  /** The longest wait before the first retry, without jitter. Default 100. */
  baseMs: number;
  /** The longest wait before any retry, unless `Retry-After` asks for more. Default 2000. */
  capMs: number;
  /** The longest that the whole call may take: all attempts and all waits. Default 10,000. */
  deadlineMs: number;
  /** The longest that one attempt may take; never more than what is left of the deadline. Default 5000. */
  attemptTimeoutMs: number;
}

const JITTERS = ['full', 'equal', 'decorrelated'];

const DEFAULTS: RetryPolicy = {
  attempts: 5,
  jitter: 'full',
  baseMs: 100,
  capMs: 2000,
  deadlineMs: 10_000,
  attemptTimeoutMs: 5000,
};

/** @throws ConfigurationError for a number that would end in no attempt, or in a wait that never ends */
export function completePolicy(given: Partial<RetryPolicy> = {}): RetryPolicy {
  const policy = { ...DEFAULTS, ...given };
  const { jitter, ...numbers } = policy;
  if (!JITTERS.includes(jitter)) {
    throw new ConfigurationError(`policy.jitter is unknown: ${jitter}`, { existing: jitter, expected: JITTERS });
  }
  const least = { attempts: 1, baseMs: 0, capMs: 0, deadlineMs: 1, attemptTimeoutMs: 1 };
  for (const [name, min] of Object.entries(least)) {
    requireNumber(`policy.${name}`, numbers[name as keyof typeof numbers], min);
  }
  return policy;
}

/**
 * The wait before retry number `retry` (1 for the first), where the server does not say.
 *
 * @param previousMs the computed wait before this one; `baseMs` before the first
 */
export function computedDelayMs(retry: number, previousMs: number, policy: RetryPolicy, random: number): number {
  if (policy.jitter === 'decorrelated') return decorrelatedJitter(previousMs, policy, random);
  return policy.jitter === 'full' ? fullJitter(retry, policy, random) : equalJitter(retry, policy, random);
}

/** Why an attempt is worth another: its status, or how it was lost. */
export type RetryReason = 'timeout' | 'network' | `status ${number}`;

/**
 * Says why the same request may fare better later: it was lost, or answered with 429, 5xx, or 409 and `Retry-After`, by which
 * the kit says `in_flight` and `outcome_unknown`. Undefined for any other 4xx, which stands, and for every answer that the
 * server has stored: it would only be replayed.
 */
export function retryReason(reply: Exclude<Reply, { type: 'aborted' }>): RetryReason | undefined {
  if (reply.type === 'lost') return reply.reason;
  const { status, headers } = reply.response;
  if (headers.has('idempotency-status')) return;
  const asksToWait = status === 409 && headers.has('retry-after');
  return status === 429 || status >= 500 || asksToWait ? `status ${status}` : undefined;
}

/** The wait that the server asks for, in milliseconds. A date is read by the server's own clock where it shows it. */
export function askedDelayMs(reply: Reply, nowMs: number): number | undefined {
  if (reply.type !== 'answered') return;
  const { headers } = reply.response;
  return parseRetryAfter(headers.get('retry-after'), parseHttpDate(headers.get('date')) ?? nowMs);
}

/** NaN passes every comparison of the wrong kind, and would make a deadline that never comes. */
export function requireNumber(name: string, value: number, min: number): void {
  if (!(value >= min)) {
    const least = min === Number.NEGATIVE_INFINITY ? '' : ` of at least ${min}`;
    throw new ConfigurationError(`${name} must be a number${least}.`, { existing: value, expected: min });
  }
}
