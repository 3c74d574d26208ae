import { isInternalField } from './fields.ts';
import { allowsEmptyText, type FormShape, isNullable, type Shape, shapeOf, typeOf } from './form-shape.ts';
import { MAX_FIELDS } from './payload-limits.ts';
import type { StandardSchema } from './standard-schema.ts';

/** A place in a form: the values of its own name, and the places behind it. */
interface Node {
  /** The name ended with `[]`. */
  isList: boolean;
  readonly values: FormDataEntryValue[];
  readonly children: Map<string, Node>;
}

interface Field {
  readonly name: string;
  readonly path: readonly string[];
  readonly isList: boolean;
  readonly value: FormDataEntryValue;
}

const MAX_DEPTH = 20;
const INDEX = /^(0|[1-9]\d*)$/;

/**
 * The object that a schema gets of a form. Names are paths (`lines[0].sku` or `lines.0.sku`, `tags[]`), and where the schema's
 * library says what it expects, values fit it: an unchecked box is false, a list with one choice or none is a list, digits
 * are a number. An empty field is left out where the schema would refuse it and can do without. What does not fit stays as it is,
 * for the schema to refuse. The kit's own fields are left out.
 */
export function formValues(form: FormData, schema: StandardSchema): Record<string, unknown> {
  const shape = shapeOf(schema);
  const root = rootOf(fieldsOf(form, shape));
  return new FormReader(shape).readForm(root);
}

function fieldsOf(form: FormData, shape: FormShape | undefined): Field[] {
  const literal = shape?.resolve(shape.root)?.properties ?? {};
  const fields: Field[] = [];
  for (const [name, value] of form) {
    if (isInternalField(name)) continue;
    const parsed = Object.hasOwn(literal, name) ? undefined : parsePath(name);
    fields.push({ name, value, ...(parsed ?? { path: [name], isList: false }) });
  }
  return fields;
}

function rootOf(fields: readonly Field[]): Node {
  const leaves = new Set(fields.map(({ path }) => path.join('\n')));
  const root = newNode();
  for (const field of fields) {
    const isInside = field.path.some((_, n) => n > 0 && leaves.has(field.path.slice(0, n).join('\n')));
    // Nothing lies behind a value: with a field `a`, the field `a.b` is called just that.
    add(root, isInside ? { ...field, path: [field.name], isList: false } : field);
  }
  return root;
}

function newNode(): Node {
  return { isList: false, values: [], children: new Map() };
}

function add(root: Node, { path, isList, value }: Field): void {
  let node = root;
  for (const step of path) {
    const next = node.children.get(step) ?? newNode();
    node.children.set(step, next);
    node = next;
  }
  node.values.push(value);
  node.isList ||= isList;
}

/** Undefined for a name that is no path, or of an index or a depth that no form of people has. */
function parsePath(name: string): Pick<Field, 'path' | 'isList'> | undefined {
  const isList = name.endsWith('[]');
  const text = isList ? name.slice(0, -2) : name;
  if (!/^[^.[\]]+(\.[^.[\]]+|\[[^.[\]]+\])*$/.test(text)) return undefined;
  const path = text.replaceAll(']', '').split(/[.[]/, MAX_DEPTH + 1);
  const isTooDeep = path.length > MAX_DEPTH;
  const isTooFar = path.some((step) => INDEX.test(step) && Number(step) >= MAX_FIELDS);
  return isTooDeep || isTooFar ? undefined : { path, isList };
}

/** Reads places as their shapes have it. Undefined: nothing is there. */
class FormReader {
  readonly #shapes: FormShape | undefined;

  constructor(shapes: FormShape | undefined) {
    this.#shapes = shapes;
  }

  /** An object, whatever its names and the schema are. */
  readForm(root: Node): Record<string, unknown> {
    return this.#readObject(root, this.#resolve(this.#shapes?.root, root), 0);
  }

  #read(node: Node | undefined, given: Shape | boolean | undefined, depth: number): unknown {
    const shape = this.#resolve(given, node);
    const type = typeOf(shape);
    if (!node) {
      if (type === 'boolean') return false;
      if (type === 'array') return [];
      return type === 'object' && depth < MAX_DEPTH ? this.#readObject(newNode(), shape, depth) : undefined;
    }
    const { values, children } = node;
    const isRows = [...children.keys()].every((step) => INDEX.test(step));
    if (isRows && (type === 'array' || (!shape && children.size > 0))) return this.#readList(node, shape ?? {}, depth);
    if (children.size > 0) return this.#readObject(node, shape, depth);
    if (node.isList || values.length > 1) return values;
    return coerce(values[0] as FormDataEntryValue, shape);
  }

  #readObject(node: Node, shape: Shape = {}, depth: number): Record<string, unknown> {
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

  /** In the order of their indices. The gaps are closed that rows leave which were taken out. */
  #readList({ values, children }: Node, { items, prefixItems = [] }: Shape, depth: number): unknown[] {
    const itemShape = (n: number) => prefixItems[n] ?? items;
    if (children.size === 0) {
      const chosen = values.filter((value) => !isUnchosenFile(value));
      return chosen.map((value, n) => coerce(value, this.#resolve(itemShape(n))));
    }
    const rows = [...children].sort(([a], [b]) => Number(a) - Number(b));
    return rows.map(([, row], n) => this.#read(row, itemShape(n), depth + 1));
  }

  #resolve(shape: Shape | boolean | undefined, node?: Node): Shape | undefined {
    return this.#shapes?.resolve(shape, node && ((name) => node.children.get(name)?.values[0]));
  }
}

/** One value as its type; as it is where it is none of that type. */
function coerce(value: FormDataEntryValue, shape: Shape | undefined): unknown {
  if (isUnchosenFile(value)) return shape ? undefined : value;
  if (typeof value !== 'string') return value;
  if (value === '' && isNullable(shape) && !allowsEmptyText(shape)) return null;
  const read = READERS[typeOf(shape) ?? ''];
  return read?.(value.trim()) ?? value;
}

const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  boolean: (text) => ({ on: true, true: true, 1: true, off: false, false: false, 0: false })[text],
  number: readNumber,
  integer: readNumber,
  bigint: (text) => (/^-?\d+$/.test(text) ? BigInt(text) : undefined),
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

function isLeftEmpty({ values, children }: Node): boolean {
  const [value] = values;
  return children.size === 0 && values.length === 1 && (value === '' || isUnchosenFile(value));
}

/** What a browser sends for a file input in which nothing was chosen. */
function isUnchosenFile(value: FormDataEntryValue | undefined): boolean {
  return value instanceof File && value.name === '' && value.size === 0;
}
