import { isPlainObject } from '../core/canonical.ts';
import { type DecimalLike, isDecimal } from '../core/decimal.ts';

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
  return copy(value, new Map()) as Sent<T>;
}

function copy(value: unknown, copies: Map<object, unknown>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (isDecimal(value)) return value.valueOf();
  if (value instanceof URL || value instanceof RegExp) return String(value);
  const known = copies.get(value);
  if (known) return known;
  const remember = <Copy extends object>(made: Copy) => {
    copies.set(value, made); // before its fields are copied: one of them may be it
    return made;
  };
  const next = (inner: unknown) => copy(inner, copies);
  if (Array.isArray(value)) {
    const list = remember<unknown[]>([]);
    for (const each of value) list.push(next(each));
    return list;
  }
  if (value instanceof Map) {
    const map = remember(new Map());
    for (const [key, inner] of value) map.set(next(key), next(inner));
    return map;
  }
  if (value instanceof Set) {
    const set = remember(new Set());
    for (const inner of value) set.add(next(inner));
    return set;
  }
  if (!isPlainObject(value)) return value;
  const fields = remember<Record<string, unknown>>({});
  for (const [name, inner] of Object.entries(value)) fields[name] = next(inner);
  return fields;
}
