import { formInput } from '../core/fields.ts';
import { listOf } from '../core/options.ts';

/** Names whose values are never sent back into a page. */
const SECRET = /pass(word|phrase|code)|secret|token|cvc|cvv|card.?number|\bpin\b|\biban\b|\bssn\b/i;

/** Returns the entered values of a form, to fill it again after a refusal; without files and without secrets. */
export function enteredValues(
  payload: FormData,
  sensitive: string | readonly string[] = [],
): Record<string, string | string[]> {
  // An action can be called with anything, whatever its types say.
  if (!(payload instanceof FormData)) return {};
  const names = listOf(sensitive);
  const mayReturn = (name: string, value: FormDataEntryValue) =>
    typeof value === 'string' && !SECRET.test(name) && !names?.includes(name);
  return formInput(payload, mayReturn) as Record<string, string | string[]>;
}
