import { IdempotencyError } from '../../core/errors.ts';
import type { ForeignVerdict } from './context.ts';

/** Says that a call did nothing, in the words of its `send`. `judge` is not asked. */
class ThrownVerdict extends IdempotencyError {
  override readonly name = 'ThrownVerdict';
  readonly verdict: Exclude<ForeignVerdict, 'indeterminate' | 'look_up'>;

  constructor(verdict: ThrownVerdict['verdict'], facts: { cause?: unknown; retryAfterMs?: number | undefined } = {}) {
    super('A call says that it did nothing. Only `send` of a foreign call may throw that.', facts);
    this.verdict = verdict;
  }
}

/** Tells it by its name: a bundler may give an adapter a copy of the class. */
export function isThrownVerdict(error: unknown): error is ThrownVerdict {
  return error instanceof Error && error.name === 'ThrownVerdict';
}

/**
 * For `throw` in the `send` of a foreign call: nothing was done, for certain, and it is to be sent again.
 *
 * ```ts
 * if (response.status === 429) throw notExecuted({ retryAfterMs: 1000 * Number(response.headers.get('retry-after')) });
 * ```
 *
 * @param how `retryAfterMs`: what the provider asks to wait, in milliseconds; followed up to an hour. `cause`: for the log
 */
export function notExecuted(how: { retryAfterMs?: number | undefined; cause?: unknown } = {}): Error {
  const { cause, retryAfterMs = 0 } = how;
  // A time that cannot be read says nothing.
  return new ThrownVerdict('not_executed', { cause, retryAfterMs: retryAfterMs > 0 ? retryAfterMs : undefined });
}

/**
 * For `throw` in the `send` of a foreign call: nothing was done, for good. The key ends in this stored refusal, as `fail` has it.
 *
 * @param reason shows as `reason` in the outcome
 * @param data plain data for the caller; stored and replayed
 */
export function refused(reason: string, data?: unknown, how: { status?: number; message?: string } = {}): Error {
  return new ThrownVerdict({ refuse: reason, data, ...how });
}
