import { allowsEmptyText, type FormShape, formShapeOf, isNullable, type JsonSchema, typeOf } from './form-shape.ts';
import { type FormNode, formTree, indexedRows, MAX_DEPTH, nameAt, newNode } from './form-tree.ts';
import type { StandardSchema } from './standard-schema.ts';

/** A form as its schema gets it. */
interface FormValues {
  readonly values: Record<string, unknown>;
  /** The name of the field at a place of `values`, as the form has it: for messages about it. */
  nameOf(path: readonly PropertyKey[]): string;
}

/**
 * Reads a form for its schema. Names are paths (`lines[0].sku` or `lines.0.sku`, `tags[]`). Where the schema's library says
 * what it expects, values fit it: an unchecked box is false, a list with one choice or none is a list, digits are a number.
 * An empty field is left out where the schema would refuse it and can do without. A value that does not fit stays as it is, for
 * the schema to refuse. The kit's own fields are left out.
 *
 * @throws BadPayloadError where one field has two names in the form
 */
export function formValues(form: FormData, schema: StandardSchema): FormValues {
  const shapes = formShapeOf(schema);
  const literal = shapes?.resolve(shapes.root)?.properties ?? {};
  const tree = formTree(form, (name) => Object.hasOwn(literal, name));
  return { values: new FormReader(shapes).readForm(tree.root), nameOf: (path) => nameAt(tree, path) };
}

/** Reads places as their shapes have it. Undefined: nothing is there. */
class FormReader {
  readonly #shapes: FormShape | undefined;

  constructor(shapes: FormShape | undefined) {
    this.#shapes = shapes;
  }

  /** An object, whatever its names and the schema are. */
  readForm(root: FormNode): Record<string, unknown> {
    return this.#readObject(root, this.#resolve(this.#shapes?.root, root), 0);
  }

  #read(node: FormNode | undefined, given: JsonSchema | boolean | undefined, depth: number): unknown {
    const shape = this.#resolve(given, node);
    const type = typeOf(shape);
    if (!node) {
      if (type === 'boolean') return false;
      if (type === 'array') return [];
      return type === 'object' && depth < MAX_DEPTH ? this.#readObject(newNode(), shape, depth) : undefined;
    }
    const { values, children } = node;
    const isList = type === 'array' || (!shape && children.size > 0);
    const rows = isList && indexedRows(node);
    if (rows) return this.#readList(node, rows, shape ?? {}, depth);
    if (children.size > 0) return this.#readObject(node, shape, depth);
    if (node.isList || values.length > 1) return values;
    return coerce(values[0] as FormDataEntryValue, shape);
  }

  #readObject(node: FormNode, shape: JsonSchema = {}, depth: number): Record<string, unknown> {
    const { properties = {}, required = [], additionalProperties } = shape;
    const entries = new Map<string, unknown>();
    for (const [name, child] of node.children) {
      if (Object.hasOwn(properties, name)) continue;
      entries.set(name, this.#read(child, additionalProperties, depth + 1));
    }
    for (const [name, property] of Object.entries(properties)) {
      const child = node.children.get(name);
      const isRequired = required.includes(name);
      const expected = this.#resolve(property, child);
      // An unchecked box and a box that is not there look alike.
      if (!child && !isRequired && typeOf(expected) !== 'boolean') continue;
      if (child && !isRequired && isLeftEmpty(child) && !allowsEmptyText(expected)) continue;
      entries.set(name, this.#read(child, property, depth + 1));
    }
    return Object.fromEntries([...entries].filter(([, value]) => value !== undefined));
  }

  #readList(
    node: FormNode,
    rows: readonly FormNode[],
    { items, prefixItems = [] }: JsonSchema,
    depth: number,
  ): unknown[] {
    const itemShape = (n: number) => prefixItems[n] ?? items;
    if (node.children.size === 0) {
      const chosen = node.values.filter((value) => !isUnchosenFile(value));
      return chosen.map((value, n) => coerce(value, this.#resolve(itemShape(n))));
    }
    return rows.map((row, n) => this.#read(row, itemShape(n), depth + 1));
  }

  #resolve(shape: JsonSchema | boolean | undefined, node?: FormNode): JsonSchema | undefined {
    return this.#shapes?.resolve(shape, node && ((name) => node.children.get(name)?.values[0]));
  }
}

/** One value as its type; as it is where it is none of that type. */
function coerce(value: FormDataEntryValue, shape: JsonSchema | undefined): unknown {
  if (isUnchosenFile(value)) return shape ? undefined : value;
  if (typeof value !== 'string') return value;
  if (value === '' && isNullable(shape) && !allowsEmptyText(shape)) return null;
  const read = READERS[typeOf(shape) ?? ''];
  return read?.(value.trim()) ?? value;
}

const BOOLEANS = new Map([
  ['on', true],
  ['true', true],
  ['1', true],
  ['off', false],
  ['false', false],
  ['0', false],
]);

/** As many digits as React takes from an action's caller: to read and to write a million takes seconds. */
const BIGINT = /^-?\d{1,300}$/;

const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  boolean: (text) => BOOLEANS.get(text),
  number: readNumber,
  integer: readNumber,
  bigint: (text) => (BIGINT.test(text) ? BigInt(text) : undefined),
  date: readDate,
};

/** Not an integer that a number cannot hold: as text it is refused, and not sold as another one. */
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

function isLeftEmpty({ values, children }: FormNode): boolean {
  const [value] = values;
  return children.size === 0 && values.length === 1 && (value === '' || isUnchosenFile(value));
}

/** The value that a browser sends for a file input in which nothing was chosen. */
function isUnchosenFile(value: FormDataEntryValue | undefined): boolean {
  return value instanceof File && value.name === '' && value.size === 0;
}
