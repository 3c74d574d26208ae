import { isInternalField } from './fields.ts';
import { MAX_FIELDS } from './payload-limits.ts';

/** A place in a form: the values of its own name, and the places behind it. */
export interface FormNode {
  /** As the form has it: `lines[0].sku`. */
  readonly name: string;
  /** The name ended with `[]`. */
  isList: boolean;
  readonly values: FormDataEntryValue[];
  readonly children: Map<string, FormNode>;
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
 * The fields of a form by the paths that their names are. Nothing lies behind a value: beside a field `a`, the field `a.b` is
 * called just that. So is a field whose name is no path, or one that no form of people has: too deep, or too high an index.
 *
 * @param isLiteral whether a name is to be taken as it is
 */
export function formTree(form: FormData, isLiteral: (name: string) => boolean): FormNode {
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
  return root;
}

export function newNode(name = ''): FormNode {
  return { name, isList: false, values: [], children: new Map() };
}

/** Tells whether nothing but indices lies behind it. */
export function isRows({ children }: FormNode): boolean {
  return [...children.keys()].every((step) => INDEX.test(step));
}

/** The places behind it in the order of their indices. The gaps are closed that rows leave which were taken out. */
export function rowsOf({ children }: FormNode): FormNode[] {
  return [...children].sort(([a], [b]) => Number(a) - Number(b)).map(([, row]) => row);
}

/** The name of the field at a place, in brackets or dots as the form has them; of a list in one field that field's. */
export function nameAt(root: FormNode, path: readonly PropertyKey[]): string {
  let node: FormNode | undefined = root;
  let { name } = root;
  for (const step of path) {
    if (node && node.values.length > 0) break;
    const isRow: boolean = typeof step === 'number' && node !== undefined && node.children.size > 0 && isRows(node);
    const next: FormNode | undefined = isRow ? node && rowsOf(node)[step as number] : node?.children.get(String(step));
    name = next?.name ?? join(name, step, hasBrackets(root));
    node = next;
  }
  return name;
}

function join(name: string, step: PropertyKey, isInBrackets: boolean): string {
  if (name === '') return String(step);
  return isInBrackets && typeof step === 'number' ? `${name}[${step}]` : `${name}.${String(step)}`;
}

function hasBrackets({ name, children }: FormNode): boolean {
  return name.includes('[') || [...children.values()].some(hasBrackets);
}

function add(root: FormNode, { path, names, isList, value }: Field): void {
  let node = root;
  for (const [n, step] of path.entries()) {
    const next = node.children.get(step) ?? newNode(names[n]);
    node.children.set(step, next);
    node = next;
  }
  node.values.push(value);
  node.isList ||= isList;
}

function asItIs(name: string): Omit<Field, 'value'> {
  return { path: [name], names: [name], isList: false };
}

/** Undefined for a name that is no path. */
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
