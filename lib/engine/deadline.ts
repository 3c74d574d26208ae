import { CodedError } from '../core/errors.ts';
import { type Awaitable, isPromised, settleWithin } from '../core/wait.ts';

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
  return settleWithin(value, deadline - performance.now(), () => {
    throw lateError(what);
  });
}

const lateError = (what: string) =>
  new CodedError('unavailable', `The caller's time was up while ${what} was still under way.`);

/** Tells whether it says that a check was not over in time. */
export function isLateCheck(error: unknown): error is CodedError {
  return error instanceof CodedError && error.code === 'unavailable';
}
