import { isInternalField } from '../core/fields.ts';

/** Names whose values are never sent back into a page. */
const SECRET = /pass(word|phrase|code)|secret|token|cvc|cvv|card.?number|\bpin\b|\biban\b|\bssn\b/i;

/** What was entered, to fill the form again after a refusal; without files and without secrets. */
export function enteredValues(payload: FormData, sensitive: readonly string[] = []): Record<string, string | string[]> {
  const values = new Map<string, string | string[]>();
  for (const [name, value] of payload) {
    if (typeof value !== 'string' || isInternalField(name) || SECRET.test(name) || sensitive.includes(name)) continue;
    const before = values.get(name);
    values.set(name, before === undefined ? value : [before, value].flat());
  }
  return Object.fromEntries(values);
}
