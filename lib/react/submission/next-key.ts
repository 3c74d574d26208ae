import type { Outcome } from '../../core/outcome.ts';

/**
 * The key that a person's next gesture may use after this answer, or nothing where the old one must stay. An expired
 * or foreign key gives way only if this was its first attempt: after an earlier one, an effect may hide behind it.
 */
export function successorOf(outcome: Outcome<unknown>, firstAttempt: boolean): string | undefined {
  if (outcome.ok || outcome.retry === 'new-key') return outcome.nextKey;
  const neverSent = firstAttempt && (outcome.code === 'key_expired' || outcome.code === 'key_invalid');
  return neverSent ? outcome.nextKey : undefined;
}

/** Whether a value from outside is an outcome at all. */
export function isOutcome(value: unknown): value is Outcome<never> {
  return typeof (value as Outcome<never> | null | undefined)?.ok === 'boolean';
}
