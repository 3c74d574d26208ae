import { inspect } from 'node:util';
import * as devalue from 'devalue';
import { type DecimalLike, isDecimal } from '../core/data.ts';
import { ConfigurationError } from '../core/errors.ts';

/** Makes a decimal of its digits. Without a store that has decimals of its own they come back as text. */
let makeDecimal: (digits: string) => unknown = (digits) => digits;

/** Says what decimals come back as: the class that the database's own answers have. For a store, at set-up. */
export function reviveDecimalsAs(make: typeof makeDecimal): void {
  makeDecimal = make;
}

const REDUCERS = { View: ownBytes, Decimal: (value: unknown) => isDecimal(value) && value.valueOf() };
const REVIVERS = { View: (bytes: unknown) => bytes, Decimal: (digits: string) => makeDecimal(digits) };

/**
 * The stored form of a value. Date, BigInt, Decimal, Map, Set, RegExp, URL, typed arrays and undefined survive.
 *
 * @param what for the error: `result of order_created`, whose first word begins the places, such as `result.total`
 * @param at where that stands in the value. Default: it is the value
 * @throws ConfigurationError for what cannot be stored: functions, promises, class instances
 */
export function stringifyValue(value: unknown, what: string, at = ''): string {
  try {
    return devalue.stringify(value, REDUCERS, { operations: { shapeOf } });
  } catch (error) {
    const { path = at, is, fix } = describeUnstorable(error);
    const place = path.startsWith(at) ? `${what.split(' ')[0]}${path.slice(at.length)}` : path.slice(1);
    throw new ConfigurationError(`The ${what} cannot be stored: ${place} ${is}. ${fix}.`, {
      existing: `${place} ${is}`,
      expected: 'plain data, Date, BigInt, Decimal, Map, Set',
    });
  }
}

/** Prisma's rows with computed fields have a symbol by which Node shows them, which is no data. Others are refused. */
function shapeOf(value: object): ReturnType<typeof devalue.defaultStringifyOperations.shapeOf> {
  const shape = devalue.defaultStringifyOperations.shapeOf(value);
  const isRow =
    shape.kind === 'symbol-keys' && Object.getOwnPropertySymbols(value).every((each) => each === inspect.custom);
  return isRow ? { kind: 'plain', keys: Object.keys(value) } : shape;
}

/** Reads what `stringifyValue` has written. Throws for any other text. */
export function parseValue(text: string): unknown {
  return devalue.parse(text, REVIVERS);
}

/** A view of a part of a larger buffer is stored as a copy of its own: the rest may be anybody's. */
function ownBytes(value: unknown): unknown {
  if (!ArrayBuffer.isView(value) || value.byteLength === value.buffer.byteLength) return false;
  const own = value.buffer.slice(value.byteOffset, value.byteOffset + value.byteLength);
  // Node's Buffer is a view of a pool; what it means is its bytes.
  if (value instanceof Uint8Array) return new Uint8Array(own);
  return new (value.constructor as new (buffer: ArrayBufferLike) => ArrayBufferView)(own);
}

/**
 * Returns what may be told of an error of `devalue`, whose fields hold the value, all that it stands in, and the keys of a Map:
 * what a person has sent. So it is no `cause` either, which loggers and `onError` would write out.
 */
function describeUnstorable(error: unknown): { path?: string; is: string; fix: string } {
  if (!(error instanceof devalue.DevalueError))
    return { is: `has a getter that threw ${nameOf(error)}`, fix: 'Mend it' };
  const path = (error.path ?? '').replace(MAP_KEYS, '.get(…)');
  const { value } = error;
  if (typeof value !== 'object' || value === null) return { path, is: `is a ${typeof value}`, fix: 'Leave it out' };
  if ('then' in value) return { path, is: 'is a promise', fix: 'Await it' };
  const { kind } = shapeOf(value);
  if (kind === 'not-plain') return { path, is: `is an instance of ${nameOf(value)}`, fix: FIELDS };
  const name = kind === 'symbol-keys' ? 'a symbol for a name' : 'the name __proto__';
  return { path, is: `is an object with ${name}`, fix: 'Leave that out' };
}

const FIELDS = 'Give its fields as a plain object, or a text; of a file that you have stored, its id';
const MAP_KEYS = /\.get\((?:"(?:[^"\\]|\\.)*"|[^")]*)\)/g;

function nameOf(value: unknown): string {
  const { name } = (Object(value) as object).constructor ?? {};
  return typeof name === 'string' && /^[\w$]{1,60}$/.test(name) ? name : 'object';
}

/** Values that come back from the store as themselves. */
type Whole = Primitive | Collection | Date | RegExp | URL | ArrayBuffer | ArrayBufferView | DecimalLike | Response;

type Primitive = string | number | boolean | bigint | null | undefined;
type Collection = ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>;

/** The places in a result that cannot be stored; none where all can. `any` and `unknown` are looked at when it is stored. */
type Unstorable<T, Path extends string = '', Depth extends 1[] = []> = unknown extends T
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
