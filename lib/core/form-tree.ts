import { BadPayloadError } from './errors.ts';
import { isInternalField } from './fields.ts';
import { MAX_FIELDS } from './payload-limits.ts';

/** The fields of a form by their paths. */
interface FormTree {
  readonly root: FormNode;
  /** The form has brackets in its names, and not dots alone. */
  readonly isInBrackets: boolean;
}

/** A place in a form: the values of its own name, and the places behind it. */
export interface FormNode {
  /** The form's own name of it: `lines[0].sku`. */
  readonly name: string;
  /** The name ended with `[]`. */
  isList: boolean;
  readonly values: FormDataEntryValue[];
  readonly children: Map<string, FormNode>;
  /** `rowsOf` finds it once, for all that ask. */
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
export const MAX_DEPTH = 20;

const INDEX = /^(0|[1-9]\d*)$/;
const PATH = /^[^.[\]]+(\.[^.[\]]+|\[[^.[\]]+\])*$/;

/**
 * Puts the fields of a form at the paths that their names are. Nothing lies behind a value: beside a field `a`, the field `a.b`
 * is called just that. So is a field whose name is no path, or one that no form of people has: too deep, or too high an index.
 *
 * @param isLiteral whether a name is to be taken as it is
 * @throws BadPayloadError where one field has two names, `a.b` and `a[b]`: which of their values comes first is not compared
 */
export function formTree(form: FormData, isLiteral: (name: string) => boolean): FormTree {
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

export function newNode(name = ''): FormNode {
  return { name, isList: false, values: [], children: new Map() };
}

/**
 * Returns the places behind a node in the order of their indices, without the gaps of rows that were taken out. Null where
 * something else than indices lies behind it. The tree must be whole, as the answer is kept.
 */
export function indexedRows(node: FormNode): readonly FormNode[] | null {
  if (node.rows !== undefined) return node.rows;
  node.rows = [...node.children.keys()].every((step) => INDEX.test(step))
    ? [...node.children].sort(([a], [b]) => Number(a) - Number(b)).map(([, row]) => row)
    : null;
  return node.rows;
}

/** Returns the name of the field at a place, in brackets or dots as the form has them; of a list in one field that field's. */
export function nameAt({ root, isInBrackets }: FormTree, path: readonly PropertyKey[]): string {
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
