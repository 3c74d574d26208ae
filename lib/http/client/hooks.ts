import type { StoppedBy } from './errors.ts';
import type { RetryReason } from './retry-reason.ts';

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

/** Calls a hook. An error of the hook does not fail the request. */
export function callHook<E>(hook: ((event: E) => void) | undefined, event: E): void {
  try {
    hook?.(event);
  } catch {
    // The request goes on.
  }
}
