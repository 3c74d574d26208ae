import { hash } from 'node:crypto';
import { isPlainObject } from './data.ts';
import { BadPayloadError } from './errors.ts';
import { isInternalField } from './fields.ts';
import { MAX_BODY_BYTES, MAX_FIELDS } from './payload-limits.ts';
import { isVolatile } from './volatile.ts';
import { type Awaitable, proceed } from './wait.ts';

const MAX_DEPTH = 100;

/**
 * Bounds the work: values may refer to one object many times, or to one text, and each reference is written out. Wider than what a
 * schema is asked about (`unfitValue`), as the rows of older and larger payloads are still to be compared.
 */
export const MAX_VALUES = 100_000;
const MAX_CHARACTERS = MAX_BODY_BYTES;

/** JSON that is known to have one meaning. */
type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/**
 * The canonical texts of what a client sent, equal for the same payload: without the fields that change by themselves; and, where it
 * has such fields, with all but the operation's own, which is what older versions of the fingerprint count.
 */
export type CanonicalTexts = readonly [lasting: string, whole?: string];

/** The canonical text of all that was sent. Throws as `canonicalTexts` does. */
export function canonicalText(payload: unknown): Awaitable<string> {
  return proceed(canonicalTexts(payload), ([text, whole = text]) => whole);
}

/**
 * The canonical texts of what a client sent (F1): equal for payloads that mean the same, different for all others.
 * Plain JSON becomes RFC 8785; a form becomes its fields, sorted by name, values in order, a file by its content.
 * Rich values that server actions carry (Date, BigInt, Map, Set, files, undefined in arrays, the NaN of an empty number
 * field) get tags that no plain value can imitate. At once, unless there are files to read.
 *
 * @param volatile an operation's own names of fields that change by themselves, at the top level
 * @throws BadPayloadError for what has no one meaning: integers beyond 2^53, Infinity, cycles, functions, class instances
 */
export function canonicalTexts(
  payload: unknown,
  volatile: readonly string[] = [],
  maxValues = MAX_VALUES,
): Awaitable<CanonicalTexts> {
  return payload instanceof FormData ? canonicalForm(payload, volatile) : canonicalJson(payload, volatile, maxValues);
}

function canonicalJson(payload: unknown, volatile: readonly string[], maxValues: number): Awaitable<CanonicalTexts> {
  const isObject = isPlainObject(payload);
  const kept =
    volatile.length > 0 && isObject
      ? Object.fromEntries(Object.entries(payload).filter(([name]) => !volatile.includes(name)))
      : payload;
  const budget: Budget = { values: maxValues, characters: MAX_CHARACTERS, files: new Map() };
  const json = toJson(kept, 0, budget);
  // A name that starts with $ is escaped in it.
  const isLasting = (name: string) => !isVolatile(name.replace(/^\$/, ''), volatile);
  const write = (members: Members) => `json:${serialize(Object.fromEntries(members))}`;
  const texts = (): CanonicalTexts =>
    isObject ? textsOf(Object.entries(json as object), isLasting, write) : [`json:${serialize(json)}`];
  return budget.files.size > 0 ? describeFiles(budget.files).then(texts) : texts();
}

async function canonicalForm(form: FormData, volatile: readonly string[]): Promise<CanonicalTexts> {
  const byName = new Map<string, Json[]>();
  for (const [name, value] of form) {
    if (isInternalField(name) || volatile.includes(name)) continue;
    const values = byName.get(name) ?? [];
    // A native submit sends CRLF, a hydrated one LF, for the same text in the same field.
    values.push(typeof value === 'string' ? value.replaceAll(/\r\n?/g, '\n') : await describeFile(value));
    byName.set(name, values);
  }
  const fields = [...byName].sort(([a], [b]) => (a < b ? -1 : 1));
  const isLasting = (name: string) => !isVolatile(name, volatile);
  return textsOf(fields, isLasting, (some) => `form:${serialize(some)}`);
}

type Members = [name: string, Json][];

function textsOf(all: Members, isLasting: (name: string) => boolean, write: (some: Members) => string): CanonicalTexts {
  const lasting = all.filter(([name]) => isLasting(name));
  return lasting.length === all.length ? [write(all)] : [write(lasting), write(all)];
}

async function describeFile(file: Blob): Promise<{ [name: string]: Json }> {
  const sha256 = hash('sha256', new Uint8Array(await file.arrayBuffer()));
  return { name: file instanceof File ? file.name : '', type: file.type, size: file.size, sha256 };
}

/** Fills in what stands for the files. Each is read once, however often the values refer to it. */
async function describeFiles(files: Budget['files']): Promise<void> {
  const each = async ([file, place]: [Blob, { [name: string]: Json }]) => {
    place.$file = await describeFile(file);
  };
  await Promise.all(Array.from(files, each));
}

/** The values that may still be written out, and the files met so far with the place of their description. */
interface Budget {
  values: number;
  characters: number;
  files: Map<Blob, { [name: string]: Json }>;
}

function toJson(value: unknown, depth: number, budget: Budget): Json {
  if (depth > MAX_DEPTH) throw badPayload(`nested deeper than ${MAX_DEPTH} levels, or in a circle`);
  if (budget.values-- <= 0) throw badPayload('too many values');
  const next = (inner: unknown) => toJson(inner, depth + 1, budget);
  if (typeof value === 'string') return wellFormed(value, budget);
  if (typeof value === 'boolean' || value === null) return value;
  if (typeof value === 'number') return toJsonNumber(value);
  if (typeof value === 'bigint') return { $bigint: value.toString() };
  if (value === undefined) return { $undefined: true };
  if (typeof value !== 'object') throw badPayload(`a ${typeof value}`);
  if (Array.isArray(value)) return Array.from(value, next);
  if (value instanceof Date) return { $date: Number.isNaN(value.getTime()) ? null : value.toISOString() };
  if (value instanceof Map) return { $map: Array.from(value, ([key, inner]) => [next(key), next(inner)]) };
  if (value instanceof Set) return { $set: Array.from(value, next) };
  if (value instanceof Blob) return placeOf(value, budget);
  if (!isPlainObject(value)) throw badPayload(`an instance of ${value.constructor?.name ?? 'a class'}`);
  // A name that starts with $ is escaped, so that it cannot pass for one of the tags above. A property that is
  // undefined is left out, as JSON does.
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
  const named = (name: string) => wellFormed(name.startsWith('$') ? `$${name}` : name, budget);
  return Object.fromEntries(entries.map(([name, inner]) => [named(name), next(inner)]));
}

function placeOf(file: Blob, { files }: Budget): Json {
  const place = files.get(file) ?? {};
  files.set(file, place);
  if (files.size > MAX_FIELDS) throw badPayload(`more than ${MAX_FIELDS} files`);
  return place;
}

/** RFC 8785: members by the UTF-16 code units of their names, numbers and strings as ECMAScript writes them. */
function serialize(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(serialize).join(',')}]`;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, inner]) => `${JSON.stringify(name)}:${serialize(inner)}`).join(',')}}`;
}

function wellFormed(text: string, budget: Budget): string {
  budget.characters -= text.length;
  if (budget.characters < 0) throw badPayload(`more than ${MAX_CHARACTERS} characters of text`);
  if (!text.isWellFormed()) throw badPayload('a lone surrogate, which no two systems read alike');
  return text;
}

function toJsonNumber(value: number): Json {
  if (Number.isNaN(value)) return { $number: 'NaN' };
  if (!Number.isFinite(value)) throw badPayload(String(value));
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    throw badPayload('an integer beyond 2^53; send it as a string');
  return value;
}

function badPayload(what: string): BadPayloadError {
  return new BadPayloadError('malformed_body', `The payload cannot be compared with a later one: it holds ${what}.`, {
    existing: what,
    expected: 'JSON values, form fields, files, Date, BigInt, Map or Set',
  });
}
