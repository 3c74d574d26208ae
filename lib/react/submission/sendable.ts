import { ConfigurationError } from '../../core/errors.ts';

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
