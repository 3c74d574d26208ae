import { CodedError } from '../core/errors.ts';
import type { StandardSchema } from '../core/standard-schema.ts';
import { type Awaitable, isPromised, settleWithin } from '../core/wait.ts';
import type { ExecuteOptions } from '../store/store.ts';
import type { OperationOptions } from './definition.ts';

/** In milliseconds, for a deadline of `performance.now()`. */
export function timeLeft(deadline: number): number {
  return deadline - performance.now();
}

/**
 * Waits for code of the app's, and no longer than the caller does: who acts, the schema, `admit`, what comes behind a commit.
 * Work that was begun goes on, and its result is dropped.
 *
 * @throws CodedError `unavailable` where the caller's time is up
 */
export function beforeDeadline<T>(
  value: Awaitable<T>,
  deadline: number,
  what = 'a check before the claim',
): Awaitable<T> {
  if (deadline === Number.POSITIVE_INFINITY || !isPromised(value)) return value;
  return settleWithin(value, timeLeft(deadline), () => {
    throw new CodedError('unavailable', `The caller's time was up while ${what} was still under way.`);
  });
}

/** Tells whether it says that a check was not over in time. */
export function isLateCheck(error: unknown): error is CodedError {
  return error instanceof CodedError && error.code === 'unavailable';
}

/** How a transaction is executed: no part of it may take longer than the caller still has (H4). */
export function withinTime<Tx>(
  { timeoutMs = 5000, maxWaitMs = 2000, isolationLevel, durability }: OperationOptions<StandardSchema, Tx>,
  deadline: number,
  waitMs = 0,
): Omit<ExecuteOptions, 'beforeCommit'> {
  const left = Math.max(1, timeLeft(deadline));
  return {
    timeoutMs: Math.min(timeoutMs + waitMs, left),
    maxWaitMs: Math.min(maxWaitMs, left),
    isolationLevel,
    durability,
    deadline,
  };
}
