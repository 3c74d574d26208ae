import type { StandardSchema } from './standard-schema.ts';

/** A part of a JSON Schema (draft 2020-12), reduced to what a form is read by. */
export interface Shape {
  /** Those of JSON Schema, and `date` and `bigint`. */
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Shape | boolean;
  readonly items?: Shape | boolean;
  readonly prefixItems?: readonly Shape[];
  readonly anyOf?: readonly Shape[];
  readonly oneOf?: readonly Shape[];
  readonly allOf?: readonly Shape[];
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Shape>>;
}

/** The shape of a schema's input, with where its references lead. */
export interface FormShape {
  readonly root: Shape;
  /** The shape without reference, null and alternatives that `value` rules out; undefined where nothing is known. */
  resolve(shape: Shape | boolean | undefined, value?: (name: string) => unknown): Shape | undefined;
}

/** How deep references may lead to one another. */
const MAX_REFERENCES = 20;

const known = new WeakMap<object, FormShape | undefined>();

/**
 * The shape of a schema's input, where its library can tell; undefined where it cannot.
 * Source: the Standard JSON Schema specification (standardschema.dev/json-schema), version 1.
 */
export function shapeOf(schema: StandardSchema): FormShape | undefined {
  if (!known.has(schema)) known.set(schema, readShape(schema));
  return known.get(schema);
}

function readShape(schema: StandardSchema): FormShape | undefined {
  const { jsonSchema } = schema['~standard'];
  let root: Shape;
  try {
    if (!jsonSchema) return undefined;
    root = jsonSchema.input({ target: 'draft-2020-12', libraryOptions: ZOD_OPTIONS });
  } catch {
    return undefined; // a library that cannot say it: the form is read by its names alone
  }
  return { root, resolve: (shape, value) => resolve(root, shape, value) };
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
  root: Shape,
  shape: Shape | boolean | undefined,
  value?: (name: string) => unknown,
  depth = 0,
): Shape | undefined {
  if (typeof shape !== 'object' || depth > MAX_REFERENCES) return undefined;
  const next = (one: Shape | undefined) => resolve(root, one, value, depth + 1);
  if (shape.$ref !== undefined) return next(referenced(root, shape.$ref));
  if (shape.allOf) return shape.allOf.map(next).reduce(both, shape);
  const alternatives = (shape.anyOf ?? shape.oneOf)?.filter(({ type }) => type !== 'null');
  if (!alternatives) return shape;
  const fitting = value ? alternatives.filter((one) => mayBe(next(one), value)) : alternatives;
  return fitting.length === 1 ? next(fitting[0]) : undefined;
}

function referenced(root: Shape, reference: string): Shape | undefined {
  if (reference === '#') return root;
  const name = /^#\/\$defs\/(.+)$/.exec(reference)?.[1];
  return name === undefined ? undefined : root.$defs?.[name];
}

function both(one: Shape | undefined, other: Shape | undefined): Shape | undefined {
  if (!one || !other) return one ?? other;
  const required = [...(one.required ?? []), ...(other.required ?? [])];
  return { ...one, ...other, required, properties: { ...one.properties, ...other.properties } };
}

/** False where a property of the alternative is another constant than the value has. */
function mayBe(shape: Shape | undefined, value: (name: string) => unknown): boolean {
  return Object.entries(shape?.properties ?? {}).every(
    ([name, property]) => property.const === undefined || property.const === value(name),
  );
}

/** The one type of a value, null apart; undefined where there is none, or more than one. */
export function typeOf(shape: Shape | undefined): string | undefined {
  const types = [shape?.type ?? []].flat().filter((type) => type !== 'null');
  return types.length === 1 ? types[0] : undefined;
}

export function isNullable(shape: Shape | undefined): boolean {
  return Array.isArray(shape?.type) && shape.type.includes('null');
}

/** True where an empty text may be a value of its own, as far as the shape tells. */
export function allowsEmptyText(shape: Shape | undefined): boolean {
  if (!shape) return true;
  const { format, pattern, minLength = 0, enum: words, const: word } = shape;
  const isFree = !format && !pattern && minLength === 0;
  return [undefined, 'string'].includes(typeOf(shape)) && isFree && (words ?? [word ?? '']).includes('');
}
