import { copyOf, type DecimalLike, isDecimal, isPlainObject } from '../core/data.ts';

type AsText = DecimalLike | URL | RegExp;
type AsItIs = Date | Map<never, never> | Set<never> | ArrayBuffer | ArrayBufferView | Response;

/** A result as a server action gives it to the browser: with text for each Decimal, URL and pattern in it. */
export type Sent<T> = T extends AsText ? string : T extends AsItIs ? T : T extends object ? SentFields<T> : T;

type SentFields<T> = { [Name in keyof T]: Sent<T[Name]> };

/**
 * Copies a value that was read from the store so that React can send it: it has no words for a Decimal, an URL, a pattern and
 * an object without a prototype, and would throw behind an effect that stands.
 */
export function sendable<T>(value: T): Sent<T> {
  return copyOf<unknown>(value, inReactsWords) as Sent<T>;
}

function inReactsWords(part: object): unknown {
  if (isDecimal(part)) return part.valueOf();
  if (part instanceof URL || part instanceof RegExp) return String(part);
  return isPlainObject(part) ? { ...part } : part;
}
