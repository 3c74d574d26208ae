import { ConfigurationError } from '../core/errors.ts';
import { KEYLESS_FORM } from '../core/fields.ts';
import type { Outcome } from '../core/outcome.ts';
import type { ExecuteRequest } from '../engine/definition.ts';

/**
 * Tells a developer that a form has no key: on the console, and as an error on the page where React would drop the refusal,
 * as it does with the return value of a bare `<form action>`.
 *
 * @throws ConfigurationError for a bare form in development
 */
export function complainOfKeylessForm(operation: string, { key, payload }: ExecuteRequest, isBare: boolean): void {
  if (process.env.NODE_ENV !== 'development' || key !== undefined || !(payload instanceof FormData)) return;
  const words = `A form of ${operation} was sent without its key, so nothing was done. Put <IdempotencyKeyField> into it, with initialKey={await issueKey(${operation})}, or make it an <IdempotentForm>.`;
  if (isBare) throw new ConfigurationError(words, { existing: 'no field idempotency_key', expected: 'a key' });
  console.error(`[oncekit] ${words}`);
}

/** In production a person reads it and can send the form again: a field that had not arrived is there then. */
export function inWordsForPeople<Result>(outcome: Outcome<Result>, { payload }: ExecuteRequest): Outcome<Result> {
  const isKeyless = !outcome.ok && (outcome.code === 'key_missing' || outcome.code === 'key_malformed');
  return isKeyless && payload instanceof FormData ? { ...outcome, message: KEYLESS_FORM } : outcome;
}
