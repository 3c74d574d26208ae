import { parseHttpDate, parseRetryAfter } from '../../core/backoff.ts';
import type { Reply } from './send-once.ts';

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
