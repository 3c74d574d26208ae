import { tryOr } from './errors.ts';
import type { StandardSchema } from './standard-schema.ts';

/** A part of a JSON Schema (draft 2020-12), reduced to what a form is read by. */
interface JsonSchema {
  /** Those of JSON Schema, and `date` and `bigint`. */
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchema | boolean;
  readonly items?: JsonSchema | boolean;
  readonly prefixItems?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
}

/** The shape of a schema's input, with where its references lead. */
interface FormShape {
  readonly root: JsonSchema;
  /** The shape without reference, null and alternatives that `value` rules out; undefined where nothing is known. */
  resolve(shape: JsonSchema | boolean | undefined, value?: (name: string) => unknown): JsonSchema | undefined;
}

/** How deep references may lead to one another. */
const MAX_REFERENCES = 20;

const known = new WeakMap<object, FormShape | undefined>();

/**
 * The shape of a schema's input, where its library can tell; undefined where it cannot.
 * Source: the Standard JSON Schema specification (standardschema.dev/json-schema), version 1.
 */
export function formShapeOf(schema: StandardSchema): FormShape | undefined {
  if (!known.has(schema)) known.set(schema, readShape(schema));
  return known.get(schema);
}

function readShape(schema: StandardSchema): FormShape | undefined {
  const { jsonSchema } = schema['~standard'];
  // A library may not be able to say it: the form is then read by its names alone.
  const read = () => jsonSchema?.input({ target: 'draft-2020-12', libraryOptions: ZOD_OPTIONS });
  const root: JsonSchema | undefined = tryOr(read);
  return root && { root, resolve: (shape, value) => resolve(root, shape, value) };
}

/** For zod: names types that JSON Schema has no word for, and lets the input of `z.preprocess` be anything. */
const ZOD_OPTIONS = {
  unrepresentable: 'any',
  override({ zodSchema, jsonSchema }: { zodSchema: ZodSchema; jsonSchema: Record<string, unknown> }) {
    const { type, in: from } = zodSchema._zod.def;
    if (type === 'date' || type === 'bigint') jsonSchema.type = type;
    if (type === 'pipe' && from?._zod.def.type === 'transform') {
      for (const word of Object.keys(jsonSchema)) delete jsonSchema[word];
    }
  },
};

interface ZodSchema {
  readonly _zod: { readonly def: { readonly type: string; readonly in?: ZodSchema } };
}

function resolve(
  root: JsonSchema,
  shape: JsonSchema | boolean | undefined,
  value?: (name: string) => unknown,
  depth = 0,
): JsonSchema | undefined {
  if (typeof shape !== 'object' || depth > MAX_REFERENCES) return undefined;
  const next = (one: JsonSchema | undefined) => resolve(root, one, value, depth + 1);
  if (shape.$ref !== undefined) return next(referenced(root, shape.$ref));
  if (shape.allOf) return shape.allOf.map(next).reduce(both, shape);
  const alternatives = (shape.anyOf ?? shape.oneOf)?.filter(({ type }) => type !== 'null');
  if (!alternatives) return shape;
  const fitting = value ? alternatives.filter((one) => mayBe(next(one), value)) : alternatives;
  return fitting.length === 1 ? next(fitting[0]) : undefined;
}

function referenced(root: JsonSchema, reference: string): JsonSchema | undefined {
  if (reference === '#') return root;
  const name = /^#\/\$defs\/(.+)$/.exec(reference)?.[1];
  return name === undefined ? undefined : root.$defs?.[name];
}

function both(one: JsonSchema | undefined, other: JsonSchema | undefined): JsonSchema | undefined {
  if (!one || !other) return one ?? other;
  const required = [...(one.required ?? []), ...(other.required ?? [])];
  return { ...one, ...other, required, properties: { ...one.properties, ...other.properties } };
}

/** False where a property of the alternative is another constant than the value has. */
function mayBe(shape: JsonSchema | undefined, value: (name: string) => unknown): boolean {
  return Object.entries(shape?.properties ?? {}).every(
    ([name, property]) => property.const === undefined || property.const === value(name),
  );
}

/** The one type of a value, null apart; undefined where there is none, or more than one. */
export function typeOf(shape: JsonSchema | undefined): string | undefined {
  const types = [shape?.type ?? []].flat().filter((type) => type !== 'null');
  return types.length === 1 ? types[0] : undefined;
}

/** True where an empty text may be a value of its own, as far as the shape tells. */
export function allowsEmptyText(shape: JsonSchema | undefined): boolean {
  if (!shape) return true;
  const { format, pattern, minLength = 0, enum: words, const: word } = shape;
  const isFree = !format && !pattern && minLength === 0;
  return [undefined, 'string'].includes(typeOf(shape)) && isFree && (words ?? [word ?? '']).includes('');
}

/** One value as its type; as it is where it is none of that type. */
export function coerce(value: FormDataEntryValue, shape: JsonSchema | undefined): unknown {
  if (isUnchosenFile(value)) return shape ? undefined : value;
  if (typeof value !== 'string') return value;
  const isNullable = Array.isArray(shape?.type) && shape.type.includes('null');
  if (value === '' && isNullable && !allowsEmptyText(shape)) return null;
  const read = READERS[typeOf(shape) ?? ''];
  return read?.(value.trim()) ?? value;
}

const BOOLEANS = new Map(Object.entries({ on: true, true: true, 1: true, off: false, false: false, 0: false }));

/** As many digits as React takes from an action's caller: to read and to write a million takes seconds. */
const BIGINT = /^-?\d{1,300}$/;

const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  boolean: (text) => BOOLEANS.get(text),
  number: readNumber,
  integer: readNumber,
  bigint: (text) => (BIGINT.test(text) ? BigInt(text) : undefined),
  date: readDate,
};

/** Leaves an integer that a number cannot hold as it is: as text it is refused, and not sold as another one. */
function readNumber(text: string): number | undefined {
  if (!/^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(text)) return undefined;
  const number = Number(text);
  return Math.abs(number) <= Number.MAX_SAFE_INTEGER ? number : undefined;
}

/** A day, at midnight UTC, or a moment with its offset. A time without one is of a zone that nobody has named. */
function readDate(text: string): Date | undefined {
  if (!/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(text)) return undefined;
  const date = new Date(text);
  const isDay = new Date(text.slice(0, 10)).toJSON()?.startsWith(text.slice(0, 10));
  return isDay && !Number.isNaN(date.getTime()) ? date : undefined;
}

/** The value that a browser sends for a file input in which nothing was chosen. */
export function isUnchosenFile(value: FormDataEntryValue | undefined): boolean {
  return value instanceof File && value.name === '' && value.size === 0;
}
