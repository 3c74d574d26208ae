import { hash } from 'node:crypto';
import { BadPayloadError } from './errors.ts';
import { isInternalField } from './fields.ts';
import { MAX_BODY_BYTES } from './payload-limits.ts';
import type { Awaitable } from './wait.ts';

const MAX_DEPTH = 100;

/** Bounds the work: values may refer to one object many times, or to one text, and each reference is written out. */
const MAX_VALUES = 100_000;
const MAX_CHARACTERS = MAX_BODY_BYTES;

/** JSON that is known to have one meaning. */
type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/**
 * The canonical text of what a client sent (F1): equal for payloads that mean the same, different for all others.
 * Plain JSON becomes RFC 8785; a form becomes its fields, sorted by name, values in order, a file by its content.
 * Rich values that server actions carry (Date, BigInt, Map, Set, undefined in arrays) get tags that no plain value
 * can imitate. At once, unless it is a form, whose files must be read.
 *
 * @throws BadPayloadError for what has no one meaning: integers beyond 2^53, NaN, cycles, functions, class instances
 */
export function canonicalText(payload: unknown, volatile: ReadonlySet<string> = new Set()): Awaitable<string> {
  return payload instanceof FormData ? canonicalForm(payload, volatile) : canonicalJson(payload, volatile);
}

function canonicalJson(payload: unknown, volatile: ReadonlySet<string>): string {
  const kept =
    volatile.size > 0 && isPlainObject(payload)
      ? Object.fromEntries(Object.entries(payload).filter(([name]) => !volatile.has(name)))
      : payload;
  return `json:${serialize(toJson(kept, 0, { values: MAX_VALUES, characters: MAX_CHARACTERS }))}`;
}

async function canonicalForm(form: FormData, volatile: ReadonlySet<string>): Promise<string> {
  const byName = new Map<string, Json[]>();
  for (const [name, value] of form) {
    if (isInternalField(name) || volatile.has(name)) continue;
    const values = byName.get(name) ?? [];
    values.push(typeof value === 'string' ? normalizeText(value) : await describeFile(value));
    byName.set(name, values);
  }
  const fields = [...byName].sort(([a], [b]) => (a < b ? -1 : 1));
  return `form:${serialize(fields)}`;
}

/** A native submit sends CRLF, a hydrated one LF, for the same text in the same field. */
function normalizeText(value: string): string {
  return value.replaceAll('\r\n', '\n').replaceAll('\r', '\n');
}

async function describeFile(file: File): Promise<Json> {
  const sha256 = hash('sha256', new Uint8Array(await file.arrayBuffer()));
  return { name: file.name, type: file.type, size: file.size, sha256 };
}

/** The values that may still be written out. */
interface Budget {
  values: number;
  characters: number;
}

function toJson(value: unknown, depth: number, budget: Budget): Json {
  if (depth > MAX_DEPTH) throw badPayload(`nested deeper than ${MAX_DEPTH} levels, or in a circle`);
  if (budget.values-- <= 0) throw badPayload(`more than ${MAX_VALUES} values`);
  const next = (inner: unknown) => toJson(inner, depth + 1, budget);
  switch (typeof value) {
    case 'string':
      return wellFormed(value, budget);
    case 'boolean':
      return value;
    case 'number':
      return toJsonNumber(value);
    case 'bigint':
      return { $bigint: value.toString() };
    case 'undefined':
      return { $undefined: true };
    case 'object':
      break;
    default:
      throw badPayload(`a ${typeof value}`);
  }
  if (value === null) return null;
  if (Array.isArray(value)) return Array.from(value, next);
  if (value instanceof Date) return { $date: Number.isNaN(value.getTime()) ? null : value.toISOString() };
  if (value instanceof Map) return { $map: Array.from(value, ([key, inner]) => [next(key), next(inner)]) };
  if (value instanceof Set) return { $set: Array.from(value, next) };
  if (!isPlainObject(value)) throw badPayload(`an instance of ${value.constructor?.name ?? 'a class'}`);
  // A name that starts with $ is escaped, so that it cannot pass for one of the tags above. A property that is
  // undefined is left out, as JSON does.
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
  return Object.fromEntries(entries.map(([name, inner]) => [escapeName(name, budget), next(inner)]));
}

/** RFC 8785: members by the UTF-16 code units of their names, numbers and strings as ECMAScript writes them. */
function serialize(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(serialize).join(',')}]`;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, inner]) => `${JSON.stringify(name)}:${serialize(inner)}`).join(',')}}`;
}

function escapeName(name: string, budget: Budget): string {
  return wellFormed(name.startsWith('$') ? `$${name}` : name, budget);
}

function wellFormed(text: string, budget: Budget): string {
  budget.characters -= text.length;
  if (budget.characters < 0) throw badPayload(`more than ${MAX_CHARACTERS} characters of text`);
  if (!text.isWellFormed()) throw badPayload('a lone surrogate, which no two systems read alike');
  return text;
}

function toJsonNumber(value: number): number {
  if (!Number.isFinite(value)) throw badPayload(String(value));
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    throw badPayload('an integer beyond 2^53; send it as a string');
  return value;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

function badPayload(what: string): BadPayloadError {
  return new BadPayloadError('malformed_body', `The payload cannot be compared with a later one: it holds ${what}.`, {
    existing: what,
    expected: 'JSON values, form fields, Date, BigInt, Map or Set',
  });
}
