import { ConfigurationError } from '../../core/errors.ts';
import { COMPLAINT_FIELD, OPERATION_FIELD } from '../../core/fields.ts';
import { askedOperation, type Settings } from './context.ts';

/**
 * Mistakes that the browser has found in development, on their way to the server's console with the next form. Empty in
 * production.
 */
export const complaints: string[] = [];

/** Tells the server of them, and which operation the intent names: the action knows its own. */
export function passOnComplaints(values: object, settings: Pick<Settings<never>, 'operation' | 'intent'>): void {
  if (!(values instanceof FormData)) return;
  values.set(OPERATION_FIELD, askedOperation(settings));
  for (const words of complaints.splice(0)) values.append(COMPLAINT_FIELD, words);
}

const MAX_DEPTH = 100;
const EXPECTED = 'plain objects, lists, text, numbers, bigints, booleans, null, Dates and Files';

/**
 * Says in development what a server action cannot take. Next would send it as something that the server cannot open, and the
 * answer would be that the request could not be read.
 *
 * @throws ConfigurationError that names the value and says what to do
 */
export function assertSendable(value: unknown, path = '', depth = 0): void {
  const refused = depth > MAX_DEPTH ? 'nested too deep, or in a circle' : refusedAs(value);
  if (refused) {
    const place = path || 'What execute() was given';
    const fix = `Give execute() ${EXPECTED}, as the schema takes them: convert it first, or give it new FormData(form).`;
    throw new ConfigurationError(`${place} is ${refused}, which cannot be sent. ${fix}`, {
      existing: refused,
      expected: EXPECTED,
    });
  }
  if (typeof value !== 'object' || value === null || value instanceof Blob || value instanceof Date) return;
  for (const [name, inner] of Object.entries(value)) {
    const step = Array.isArray(value) ? `[${name}]` : `.${name}`;
    assertSendable(inner, (path + step).replace(/^\./, ''), depth + 1);
  }
}

/** In words; undefined for what can be sent. */
function refusedAs(value: unknown): string | undefined {
  if (typeof value === 'function' || typeof value === 'symbol') return `a ${typeof value}`;
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value) || value instanceof Date || value instanceof Blob) return undefined;
  const prototype = Object.getPrototypeOf(value);
  if (prototype && Object.getPrototypeOf(prototype) === null) return undefined; // also of another window
  return prototype ? `an instance of ${value.constructor?.name || 'a class'}` : 'an object without a prototype';
}
