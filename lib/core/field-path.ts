/** A value without fields of its own. */
type Single =
  | string
  | number
  | bigint
  | boolean
  | symbol
  | null
  | undefined
  | Date
  | Blob
  | ((...args: never) => unknown);

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
