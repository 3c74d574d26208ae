import { createHash } from 'node:crypto';
import { canonicalText } from '../core/canonical.ts';
import { ConfigurationError, ResultTooLargeError } from '../core/errors.ts';

const MAX_BYTES = 262_144;

/** SHA-256 of what must be the same in every delivery, whatever the order of its fields. */
export async function hashOf(
  payload: unknown,
  compare?: (payload: never) => unknown,
): Promise<Uint8Array<ArrayBuffer>> {
  const text = await canonicalText(compare ? compare(payload as never) : payload);
  return new Uint8Array(createHash('sha256').update(text).digest());
}

/** A result as it is kept; null for none. */
export function jsonResult(result: unknown): string | null {
  const json = JSON.stringify(result) as string | undefined;
  if (json === undefined) return null;
  const bytes = Buffer.byteLength(json);
  if (bytes <= MAX_BYTES) return json;
  throw new ResultTooLargeError('result_too_large', 'The result of an event is too large to be kept.', {
    existing: `${bytes} bytes`,
    expected: `at most ${MAX_BYTES} bytes of JSON`,
  });
}

/**
 * The payload that a failed event is run again with; null where it is too large or JSON would make something else of it (a
 * FormData, a Map), and only its sender can repeat it.
 */
export async function keepable(payload: unknown): Promise<string | null> {
  try {
    const json = JSON.stringify(payload) as string | undefined;
    if (json === undefined || Buffer.byteLength(json) > MAX_BYTES) return null;
    return (await canonicalText(JSON.parse(json))) === (await canonicalText(payload)) ? json : null;
  } catch {
    return null;
  }
}

/** @throws ConfigurationError for what a column does not hold */
export function assertName(name: unknown, limit: number): void {
  if (typeof name === 'string' && /^[^\0]+$/su.test(name) && [...name].length <= limit && name.isWellFormed()) return;
  throw new ConfigurationError('A received event needs a source and an id.', {
    existing: typeof name === 'string' ? `a string of ${name.length} characters` : typeof name,
    expected: `1 to ${limit} characters`,
  });
}
