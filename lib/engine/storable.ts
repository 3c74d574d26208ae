import type { DecimalLike } from '../core/data.ts';

/** Values that come back from the store as themselves. */
type Whole =
  | string
  | number
  | boolean
  | bigint
  | null
  | undefined
  | Date
  | RegExp
  | URL
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>
  | ArrayBuffer
  | ArrayBufferView
  | DecimalLike
  | Response;

/** The places in a result that cannot be stored; none where all can. `any` and `unknown` are looked at when it is stored. */
type Unstorable<T, Path extends string = '', Depth extends 1[] = []> = 0 extends 1 & T
  ? never
  : unknown extends T
    ? never
    : Depth['length'] extends 6
      ? never
      : T extends Whole
        ? never
        : T extends symbol
          ? `${Path} is a symbol`
          : T extends (...args: never[]) => unknown
            ? `${Path} is a function`
            : T extends PromiseLike<unknown>
              ? `${Path} is a promise`
              : T extends readonly (infer Each)[]
                ? Unstorable<Each, `${Path}[]`, [...Depth, 1]>
                : T extends object
                  ? {
                      [Name in keyof T & string]: Unstorable<T[Name], `${Path}.${Name}`, [...Depth, 1]>;
                    }[keyof T & string]
                  : never;

/** Nothing for a result that can be stored; else something that no function has, which says in the compiler's error what cannot. */
export type IfStorable<Result> = [Unstorable<Result>] extends [never]
  ? unknown
  : { readonly 'cannot be stored and replayed': Unstorable<Result> };
