import { ConfigurationError } from '../core/errors.ts';
import { COMPLAINT_FIELD, OPERATION_FIELD } from '../core/fields.ts';
import { type Refusal, refuse } from '../core/outcome.ts';
import type { ExecuteRequest } from '../engine/definition.ts';

/** Mistakes in forms that the server finds in development, said once each on its console and in the answer to the form. */

const said = new Set<string>();

function complain(words: string): void {
  if (!said.has(words)) console.error(`[oncekit] ${words}`);
  said.add(words);
}

/**
 * Tells a developer that a form has no key: on the console, and as an error on the page where React would drop the refusal,
 * as it does with the return value of a bare `<form action>`. The words for the page, if there is something to say.
 *
 * @throws ConfigurationError for a bare form in development
 */
export function complainOfKeylessForm(
  operation: string,
  { key, payload }: ExecuteRequest,
  isBare: boolean,
): string | undefined {
  if (process.env.NODE_ENV !== 'development' || key !== undefined || !(payload instanceof FormData)) return undefined;
  const words = `A form of ${operation} was sent without its key, so nothing was done. Make it an <IdempotentForm> of oncekit/next, or put <IdempotencyKeyField> into it, with initialKey={await issueKey(${operation})}.`;
  if (isBare) throw new ConfigurationError(words, { existing: 'no field idempotency_key', expected: 'a key' });
  complain(words);
  return words;
}

/**
 * Refuses a form whose intent names another operation than its action has: the browser would ask the wrong one what became of
 * its key, and learn nothing when an answer is lost. Browsers say what the intent names in development alone, and with it
 * what else they have found, for this console.
 */
export function refuseOtherOperation(operation: string, { payload }: ExecuteRequest): Refusal | undefined {
  if (process.env.NODE_ENV !== 'development' || !(payload instanceof FormData)) return undefined;
  for (const words of payload.getAll(COMPLAINT_FIELD)) complain(String(words));
  const named = payload.get(OPERATION_FIELD);
  if (named === null || named === operation) return undefined;
  const message = `The intent of this form names the operation ${named}, and its action runs ${operation}, so nothing was done: after a lost answer the browser would ask the wrong one. Let the intent begin with "${operation}:", or give the form operation="${operation}". <IdempotentForm> of oncekit/next does it by itself.`;
  complain(message);
  return refuse('key_invalid', { message });
}
