export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

/**
 * A decimal number as Prisma gives one, by its shape: each generated client has a class of its own, and so has `decimal.js`,
 * which they are made of.
 */
export interface DecimalLike {
  readonly d: number[];
  readonly e: number;
  readonly s: number;
  toFixed(places?: number): string;
  valueOf(): string;
}

/**
 * Writes a value as JSON for whoever reads it elsewhere: a text in place of a BigInt, and a list in place of a Set, or, of pairs, a
 * Map. Dates and Decimals become texts by themselves. The answer is undefined for what is nothing in JSON, such as a function.
 *
 * @throws TypeError for what refers to itself
 */
export function jsonText(value: unknown, indent?: number): string | undefined {
  return JSON.stringify(value, inWordsOfJson, indent);
}

function inWordsOfJson(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  return value instanceof Map || value instanceof Set ? [...value] : value;
}

/** The mark that every copy of `decimal.js` puts on its numbers, by which its own `isDecimal` knows those of another. */
const MARK = '[object Decimal]';

export function isDecimal(value: unknown): value is DecimalLike {
  return typeof value === 'object' && value !== null && (value as { toStringTag?: unknown }).toStringTag === MARK;
}

/**
 * A copy of data: of its objects, lists, Maps, Sets, Dates, forms and bytes, to any depth; a part that stands in two places is one
 * in the copy, too. What is no data (files, instances of classes, functions) is the same in both.
 *
 * @param replace what stands in an object's place, before that is copied
 */
export function copyOf<T>(value: T, replace: Replace = (part) => part): T {
  return made(value, replace, new Map()) as T;
}

type Replace = (part: object) => unknown;

function made(original: unknown, replace: Replace, copies: Map<unknown, unknown>): unknown {
  if (typeof original !== 'object' || original === null) return original;
  const known = copies.get(original);
  if (known !== undefined) return known;
  const value = replace(original);
  if (typeof value !== 'object' || value === null) return value;
  const copy = emptyAs(value);
  // Known before its parts are copied: one of them may be itself.
  copies.set(original, copy);
  return fill(copy, value, (of) => made(of, replace, copies));
}

/** Puts the parts of an object, or what stands for them, into an empty one of its kind. */
function fill(copy: object, value: object, part = (of: unknown) => of): object {
  if (copy instanceof Map) for (const [name, of] of value as Map<unknown, unknown>) copy.set(part(name), part(of));
  else if (copy instanceof Set) for (const of of value as Set<unknown>) copy.add(part(of));
  else if (Array.isArray(copy)) for (const of of value as unknown[]) copy.push(part(of));
  else if (copy instanceof FormData) for (const [name, of] of value as FormData) copy.append(name, of as Blob);
  else if (isPlainObject(copy))
    for (const name of Object.keys(value)) put(copy, name, part((value as typeof copy)[name]));
  return copy;
}

/**
 * Notes how data is, to any depth. Returns what makes the same objects, lists, Maps, Sets, Dates, forms and bytes so again, whatever
 * has become of them; what is frozen stays as it is.
 */
export function asItWas(data: unknown): () => void {
  const were = new Map<object, object>();
  copyOf(data, (part) => were.set(part, fill(emptyAs(part), part)) && part);
  return () => were.forEach((was, part) => void putBack(part, was));
}

function putBack(part: object, was: object): void {
  if (part === was || !Object.isExtensible(part)) return;
  if (part instanceof Date) part.setTime(Number(was));
  else if (part instanceof Uint8Array) part.set(was as Uint8Array);
  else if (part instanceof Map || part instanceof Set) part.clear();
  else if (Array.isArray(part)) part.length = 0;
  else if (part instanceof FormData) for (const name of [...part.keys()]) part.delete(name);
  else for (const name of Object.keys(part)) Reflect.deleteProperty(part, name);
  fill(part, was);
}

/** An empty object of its kind, for the parts of the copy; the whole copy where there are no parts; the value where it is no data. */
function emptyAs(value: object): object {
  if (Array.isArray(value)) return [];
  if (isPlainObject(value)) return Object.getPrototypeOf(value) === null ? Object.create(null) : {};
  if (value instanceof Date) return new Date(value);
  if (value instanceof Uint8Array) return Uint8Array.prototype.slice.call(value);
  if (value instanceof Map) return new Map();
  if (value instanceof Set) return new Set();
  if (value instanceof FormData) return new FormData();
  return value;
}

/** Defined where the prototype has the name, too: `__proto__` would set that. Elsewhere assigned, which is faster. */
function put(copy: Record<string, unknown>, name: string, value: unknown): void {
  if (name in copy) Object.defineProperty(copy, name, { ...OPEN, value });
  else copy[name] = value;
}

const OPEN = { writable: true, enumerable: true, configurable: true };
