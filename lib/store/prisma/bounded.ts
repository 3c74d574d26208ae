import { IdempotencyError } from '../../core/errors.ts';

/** Rejects when there is no answer in time. What was begun goes on, and whatever it comes to is not heard any more. */
export function bounded<T>(begin: () => Promise<T>, withinMs: number, lateness = silence): Promise<T> {
  return new Promise((resolve, reject) => {
    // A bare timer: one of `timers/promises` that a signal ends costs each call an AbortError.
    const late = setTimeout(() => reject(lateness(withinMs)), Math.max(1, withinMs));
    begin()
      .then(resolve, reject)
      .finally(() => clearTimeout(late));
  });
}

const silence = (withinMs: number): Error =>
  new IdempotencyError('The database did not answer in time.', {
    existing: 'no answer',
    expected: `an answer within ${Math.round(withinMs)} ms`,
  });
