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

type Primitive = string | number | bigint | boolean | symbol | null | undefined;

/** A value without fields of its own. */
type Single = Primitive | Date | Blob | ((...args: never) => unknown);

/** How many steps of a path are told by their names. A schema may contain itself. */
type Steps = [1, 1, 1, 1, 1, 1];

/** The paths behind `Path`: of fields, and of lists and objects that hold some. Indices in dots and in brackets. */
type PathsIn<T, Path extends string, Left extends unknown[]> = unknown extends T
  ? never
  : T extends Single
    ? never
    : Left extends [unknown, ...infer Rest]
      ? T extends readonly (infer Item)[]
        ? Behind<Item, `${Path}.${number}`, Rest> | Behind<Item, `${Path}[${number}]`, Rest>
        : { [K in keyof T & (string | number)]: Behind<T[K], `${Path}.${K}`, Rest> }[keyof T & (string | number)]
      : `${Path}.${string}`;

type Behind<T, Path extends string, Left extends unknown[]> = Path | PathsIn<T, Path, Left>;

/**
 * The paths of a schema's input, as forms name their fields: `name`, `to.city`, `lines.${number}.sku` and
 * `lines[${number}].sku`. Any text where the input is not known.
 */
export type FieldPath<Input> = [Input] extends [never]
  ? string
  : unknown extends Input
    ? string
    : Input extends object
      ? { [K in keyof Input & (string | number)]: `${K}` | PathsIn<Input[K], `${K}`, Steps> }[keyof Input &
          (string | number)]
      : never;

/** The messages of a schema by the paths of its input. `''`: of no field. */
export type FieldErrors<Input = never> = MessagesBy<'' | FieldPath<Input>>;

type MessagesBy<Path extends string> = { [P in Path as IsPattern<P> extends true ? never : P]?: string[] } & {
  [P in Path as IsPattern<P> extends true ? P : never]: string[];
};

/** True for a path of many fields, which an object has as an index signature. */
type IsPattern<Path extends string> = Record<never, never> extends Record<Path, 1> ? true : false;
