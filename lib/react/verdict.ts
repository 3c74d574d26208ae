import type { Outcome } from '../core/outcome.ts';

/**
 * What an answer means for the key it was given for:
 *
 * - `done`: the effect exists.
 * - `final`: a stored refusal, a tombstone, or a stored answer that cannot be read: nothing will change any more.
 * - `running`: the first submission is not over. Ask the status route.
 * - `mismatch`: the key was used for other values, so there is a first submission to ask about.
 * - `transient`: nothing definite. The same key may be sent again without asking a person.
 * - `rejected`: this attempt was turned away. That says nothing about earlier attempts of the key.
 */
export type Verdict = 'done' | 'final' | 'running' | 'mismatch' | 'transient' | 'rejected';

/** Every code has exactly one verdict; a code that is not named here turns away this attempt only. */
export function verdictOf(outcome: Outcome<unknown>): Verdict {
  if (outcome.ok) return 'done';
  switch (outcome.code) {
    case 'failed':
    case 'key_abandoned':
    case 'result_unreadable':
      return 'final';
    case 'in_flight':
    case 'outcome_unknown':
      return 'running';
    case 'payload_mismatch':
      return 'mismatch';
    case 'unavailable':
    case 'internal':
    case 'rate_limited':
      return 'transient';
    default:
      return 'rejected';
  }
}

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
