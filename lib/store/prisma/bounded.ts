import { setTimeout as wait } from 'node:timers/promises';
import { IdempotencyError } from '../../core/errors.ts';

/** Rejects when there is no answer in time. What was begun goes on, and whatever it comes to is not heard any more. */
export async function bounded<T>(begin: () => Promise<T>, withinMs: number): Promise<T> {
  const stop = new AbortController();
  const late = wait(Math.max(1, withinMs), undefined, { signal: stop.signal }).then(() => {
    throw new IdempotencyError('The database did not answer in time.', {
      existing: 'no answer',
      expected: `an answer within ${Math.round(withinMs)} ms`,
    });
  });
  try {
    return await Promise.race([begin(), late]);
  } finally {
    stop.abort();
    late.catch(() => {}); // the abort's own rejection
  }
}
