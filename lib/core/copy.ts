/**
 * A copy of data: of its objects, lists, Maps, Sets, Dates and bytes, to any depth; a part that stands in two places is one in the
 * copy, too. What is no data (files, forms, instances of classes, functions) is the same in both.
 *
 * @param replace what stands in a part's place, before that is copied
 */
export function copyOf<T>(value: T, replace: Replace = (part) => part, copies = new Map<unknown, unknown>()): T {
  return (copies.get(value) ?? made(value, replace, copies)) as T;
}

type Replace = (part: unknown) => unknown;

function made(original: unknown, replace: Replace, copies: Map<unknown, unknown>): unknown {
  const value = replace(original);
  if (value instanceof Date) return new Date(value);
  if (value instanceof Uint8Array) return Uint8Array.prototype.slice.call(value);
  const copy = emptyAs(value);
  // Known before its parts are copied: one of them may be itself.
  copies.set(original, copy);
  if (copy === value) return value;
  const part = (of: unknown) => copyOf(of, replace, copies);
  if (copy instanceof Map) for (const [name, of] of value as Map<unknown, unknown>) copy.set(part(name), part(of));
  else if (copy instanceof Set) for (const of of value as Set<unknown>) copy.add(part(of));
  // Defined, for a name may be __proto__.
  else
    for (const [name, of] of Object.entries(value as object))
      Object.defineProperty(copy, name, { ...OPEN, value: part(of) });
  return copy;
}

const OPEN = { writable: true, enumerable: true, configurable: true };

/** What the parts of the copy are put into; the value itself where it is no data, or has no parts. */
function emptyAs(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return [];
  if (value instanceof Map) return new Map();
  if (value instanceof Set) return new Set();
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null ? Object.create(prototype) : value;
}
