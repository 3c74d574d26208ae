import { KEYLESS_FORM } from '../core/fields.ts';
import type { Outcome } from '../core/outcome.ts';
import type { ExecuteRequest } from '../engine/definition.ts';

/**
 * Says in a person's words that a form has lost its key, who can send it again: a field that had not arrived is there then.
 * `advice`: a developer's words in place of them.
 */
export function inWordsForPeople<Result>(
  outcome: Outcome<Result>,
  { payload }: ExecuteRequest,
  advice = KEYLESS_FORM,
): Outcome<Result> {
  const isKeyless = !outcome.ok && (outcome.code === 'key_missing' || outcome.code === 'key_malformed');
  return isKeyless && payload instanceof FormData ? { ...outcome, message: advice } : outcome;
}
