import type { Outcome } from '../core/outcome.ts';
import type { FieldErrors } from '../core/standard-schema.ts';

/** The error of one field, as react-hook-form keeps it. */
export type FieldMessage = { type: 'server'; message: string };

type ErrorsWithin<T> = T extends Date | Blob
  ? FieldMessage
  : T extends readonly (infer Item)[]
    ? FieldMessage & ErrorsWithin<Item>[]
    : T extends object
      ? FieldMessage & { [K in keyof T]?: ErrorsWithin<NonNullable<T[K]>> }
      : FieldMessage;

/** The errors of fields, nested as the values are. `root`: what belongs to no field. */
export type NestedErrors<Input> = { root?: FieldMessage } & ([Input] extends [never]
  ? unknown
  : { [K in keyof Input]?: ErrorsWithin<NonNullable<Input[K]>> });

/** The errors of fields by their paths, with indices in brackets. `form`: what belongs to no field. */
export interface BracketErrors<Input> {
  form?: string;
  fields: { [Path in keyof FieldErrors<Input>]?: string };
}

const nested = new WeakMap<object, object>();

/**
 * The refused fields for react-hook-form: `useForm({ errors: nestErrors(submit.result) })`. The same object for the same
 * answer, so nothing is set anew while the page renders. Undefined where no field was refused.
 */
export function nestErrors<I>(outcome: Outcome<unknown, string, I> | null): NestedErrors<I> | undefined {
  const errors = errorsOf(outcome);
  if (!errors) return undefined;
  if (!nested.has(errors)) nested.set(errors, nest(errors));
  return nested.get(errors) as NestedErrors<I>;
}

/**
 * The refused fields for TanStack Form: `setErrorMap({ onSubmit: bracketErrors(outcome) })`, or the return value of a
 * validator. Undefined where no field was refused.
 */
export function bracketErrors<I>(outcome: Outcome<unknown, string, I> | null): BracketErrors<I> | undefined {
  const errors = errorsOf(outcome);
  if (!errors) return undefined;
  const { '': form, ...fields } = errors;
  const named = Object.entries(fields).map(([name, words]) => [inBrackets(name), words.join(' ')]);
  return { ...(form && { form: form.join(' ') }), fields: Object.fromEntries(named) };
}

function errorsOf(outcome: Outcome<unknown> | null): Record<string, string[]> | undefined {
  return outcome?.ok === false ? outcome.fieldErrors : undefined;
}

type Node = Record<string, unknown>;

function nest(errors: Record<string, string[]>): Node {
  const root: Node = {};
  for (const [name, words] of Object.entries(errors)) {
    const steps = name === '' ? ['root'] : name.split(/[.[\]]+/).filter((step) => step !== '');
    const place = steps.reduce((node, step, n) => nodeAt(node, step, steps[n + 1]), root);
    Object.assign(place, { type: 'server', message: words.join(' ') });
  }
  return root;
}

/** The node that a step leads to, made where it is missing: a list where the next step is an index. */
function nodeAt(node: Node, step: string, next = ''): Node {
  if (!Object.hasOwn(node, step)) node[step] = /^\d+$/.test(next) ? [] : {};
  return node[step] as Node;
}

function inBrackets(name: string): string {
  return name.replace(/\.(\d+)(?=[.[]|$)/g, '[$1]');
}
