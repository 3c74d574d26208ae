import { BadPayloadError } from './errors.ts';
import { isInternalField } from './fields.ts';
import { allowsEmptyText, coerce, formShapeOf, isUnchosenFile, typeOf } from './form-shape.ts';
import { MAX_FIELDS } from './payload-limits.ts';
import type { NameOf, StandardSchema } from './standard-schema.ts';

type FormShape = NonNullable<ReturnType<typeof formShapeOf>>;
type JsonSchema = FormShape['root'];

/**
 * Reads a form for its schema. Names are paths (`lines[0].sku` or `lines.0.sku`, `tags[]`). Where the schema's library says
 * what it expects, values fit it: an unchecked box is false, a list with one choice or none is a list, digits are a number.
 * An empty field is left out where the schema would refuse it and can do without. A value that does not fit stays as it is, for
 * the schema to refuse. The kit's own fields are left out.
 *
 * @throws BadPayloadError where one field has two names in the form
 */
export function formValues(form: FormData, schema: StandardSchema) {
  const shapes = formShapeOf(schema);
  const literal = shapes?.resolve(shapes.root)?.properties ?? {};
  const tree = formTree(form, (name) => Object.hasOwn(literal, name));
  const nameOf: NameOf = (path) => nameAt(tree, path);
  return { values: new FormReader(shapes).readForm(tree.root), nameOf };
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
    if (node.isList) return values;
    const read = values.map((value) => coerce(value, shape));
    if (read.length === 1) return read[0];
    // Beside a box may stand a hidden field of its name, which says no where the box is not checked.
    const isBox = type === 'boolean' && read.every((one) => typeof one === 'boolean');
    return isBox ? read.includes(true) : values;
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

function isLeftEmpty({ values, children }: FormNode): boolean {
  const [value] = values;
  return children.size === 0 && values.length === 1 && (value === '' || isUnchosenFile(value));
}

/** A place in a form: the values of its own name, and the places behind it. */
interface FormNode {
  /** The form's own name of it: `lines[0].sku`. */
  readonly name: string;
  /** The name ended with `[]`. */
  isList: boolean;
  readonly values: FormDataEntryValue[];
  readonly children: Map<string, FormNode>;
  /** `indexedRows` finds it once, for all that ask. */
  rows?: readonly FormNode[] | null;
}

interface Field {
  readonly path: readonly string[];
  /** The name up to each step of the path. */
  readonly names: readonly string[];
  readonly isList: boolean;
  readonly value: FormDataEntryValue;
}

/** How many steps a path may have. */
const MAX_DEPTH = 20;

const INDEX = /^(0|[1-9]\d*)$/;
const PATH = /^[^.[\]]+(\.[^.[\]]+|\[[^.[\]]+\])*$/;

/**
 * Puts the fields of a form at the paths that their names are. Nothing lies behind a value: beside a field `a`, the field `a.b`
 * is called just that. So is a field whose name is no path, or one that no form of people has: too deep, or too high an index.
 *
 * @param isLiteral whether a name is to be taken as it is
 * @returns `isInBrackets`: the form has brackets in its names, and not dots alone
 * @throws BadPayloadError where one field has two names, `a.b` and `a[b]`: which of their values comes first is not compared
 */
function formTree(form: FormData, isLiteral: (name: string) => boolean) {
  const fields: Field[] = [];
  for (const [name, value] of form) {
    if (!isInternalField(name)) fields.push({ value, ...((!isLiteral(name) && parsePath(name)) || asItIs(name)) });
  }
  const leaves = new Set(fields.map(({ path }) => path.join('\n')));
  const root = newNode();
  for (const field of fields) {
    const isBehindValue = field.path.some((_, n) => n > 0 && leaves.has(field.path.slice(0, n).join('\n')));
    add(root, isBehindValue ? { ...field, ...asItIs(field.names.at(-1) ?? '') } : field);
  }
  return { root, isInBrackets: fields.some(({ names }) => names.at(-1)?.includes('[')) };
}

function newNode(name = ''): FormNode {
  return { name, isList: false, values: [], children: new Map() };
}

/**
 * Returns the places behind a node in the order of their indices, without the gaps of rows that were taken out. Null where
 * something else than indices lies behind it. The tree must be whole, as the answer is kept.
 */
function indexedRows(node: FormNode): readonly FormNode[] | null {
  if (node.rows !== undefined) return node.rows;
  node.rows = [...node.children.keys()].every((step) => INDEX.test(step))
    ? [...node.children].sort(([a], [b]) => Number(a) - Number(b)).map(([, row]) => row)
    : null;
  return node.rows;
}

/** Returns the name of the field at a place, in brackets or dots as the form has them; of a list in one field that field's. */
function nameAt({ root, isInBrackets }: ReturnType<typeof formTree>, path: readonly PropertyKey[]): string {
  let node: FormNode | undefined = root;
  let { name } = root;
  for (const step of path) {
    if (node && node.values.length > 0) break;
    const rows: readonly FormNode[] | null | undefined =
      typeof step === 'number' && node && node.children.size > 0 ? indexedRows(node) : null;
    const next: FormNode | undefined = rows ? rows[step as number] : node?.children.get(String(step));
    name = next?.name ?? join(name, step, isInBrackets);
    node = next;
  }
  return name;
}

function join(name: string, step: PropertyKey, isInBrackets: boolean): string {
  if (name === '') return String(step);
  return isInBrackets && typeof step === 'number' ? `${name}[${step}]` : `${name}.${String(step)}`;
}

function add(root: FormNode, { path, names, isList, value }: Field): void {
  let node = root;
  for (const [n, step] of path.entries()) {
    const next = node.children.get(step) ?? newNode(names[n]);
    node.children.set(step, next);
    node = next;
  }
  const name = names.at(-1) ?? '';
  if (node.values.length > 0 && node.name !== name) throw namedTwice(node.name, name);
  node.values.push(value);
  node.isList ||= isList;
}

function namedTwice(name: string, other: string): BadPayloadError {
  const words = `One field has two names in the form, ${name} and ${other}. Give it one of them.`;
  return new BadPayloadError('malformed_body', words, { existing: [name, other], expected: 'one name for each field' });
}

function asItIs(name: string): Omit<Field, 'value'> {
  return { path: [name], names: [name], isList: false };
}

/** Returns undefined for a name that is no path. */
function parsePath(name: string): Omit<Field, 'value'> | undefined {
  const isList = name.endsWith('[]');
  const text = isList ? name.slice(0, -2) : name;
  if (!PATH.test(text)) return undefined;
  const steps = [...text.matchAll(/[^.[\]]+\]?/g)];
  const path = steps.map(([step]) => step.replace(']', ''));
  const isTooFar = path.some((step) => INDEX.test(step) && Number(step) >= MAX_FIELDS);
  if (path.length > MAX_DEPTH || isTooFar) return undefined;
  const names = steps.map(({ 0: step, index }) => text.slice(0, index + step.length));
  if (isList) names[names.length - 1] = name;
  return { path, names, isList };
}
