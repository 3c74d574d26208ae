import { type Awaitable, proceed } from './wait.ts';

/**
 * A schema as far as the kit needs it: zod, valibot, arktype and others offer it.
 * Source: the Standard Schema specification (standardschema.dev), version 1, reduced to what is used here.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Result<Output> | Promise<Result<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    /** Says what the input looks like, as a JSON Schema; not every library can. */
    readonly jsonSchema?: { readonly input: (options: JsonSchemaOptions) => Record<string, unknown> } | undefined;
  };
}

interface JsonSchemaOptions {
  readonly target: 'draft-2020-12';
  readonly libraryOptions?: Record<string, unknown> | undefined;
}

type Result<Output> = { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly Issue[] };

interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export type InputOf<S extends StandardSchema> = NonNullable<S['~standard']['types']>['input'];
export type OutputOf<S extends StandardSchema> = NonNullable<S['~standard']['types']>['output'];

/** A schema's verdict: the parsed value, or the first 100 messages by field (`''`: of no field, and how many more there are). */
type Validated<Output> = { ok: true; value: Output } | { ok: false; fieldErrors: Record<string, string[]> };

/** As many errors of one input are told as a person may read. */
const MAX_ERRORS = 100;

/** How a field is called that a path leads to. */
export type NameOf = (path: readonly PropertyKey[]) => string;

const inDots: NameOf = (path) => path.map(String).join('.');

/**
 * Asks the schema. At once where it answers at once.
 *
 * @param nameOf of the fields in the messages; left out: `a.0.b`
 */
export function validate<S extends StandardSchema>(
  schema: S,
  value: unknown,
  nameOf: NameOf = inDots,
): Awaitable<Validated<OutputOf<S>>> {
  return proceed(schema['~standard'].validate(value), (result) => verdictOf<S>(result, nameOf));
}

function verdictOf<S extends StandardSchema>(result: Result<unknown>, nameOf: NameOf): Validated<OutputOf<S>> {
  if (!result.issues) return { ok: true, value: result.value as OutputOf<S> };
  const messages = new Map<string, string[]>();
  const add = (field: string, message: string) => messages.set(field, [...(messages.get(field) ?? []), message]);
  for (const { path = [], message } of result.issues.slice(0, MAX_ERRORS)) {
    add(nameOf(path.map((step) => (typeof step === 'object' ? step.key : step))), message);
  }
  const { length } = result.issues;
  if (length > MAX_ERRORS) add('', `These are the first ${MAX_ERRORS} of ${length} errors.`);
  return { ok: false, fieldErrors: Object.fromEntries(messages) };
}
