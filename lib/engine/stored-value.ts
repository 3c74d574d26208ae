import * as devalue from 'devalue';
import { isDecimal } from '../core/decimal.ts';

/** Makes a decimal of its digits. Without a store that has decimals of its own they come back as text. */
let makeDecimal: (digits: string) => unknown = (digits) => digits;

/** Says what decimals come back as: the class that the database's own answers have. For a store, at set-up. */
export function reviveDecimalsAs(make: typeof makeDecimal): void {
  makeDecimal = make;
}

const REDUCERS = { View: ownBytes, Decimal: digitsOf };
const REVIVERS = { View: (bytes: unknown) => bytes, Decimal: (digits: string) => makeDecimal(digits) };

/**
 * The stored form of a value. Date, BigInt, Decimal, Map, Set, RegExp, URL, typed arrays and undefined survive.
 *
 * @throws DevalueError for what cannot be stored: functions, promises, class instances
 */
export function stringifyValue(value: unknown): string {
  return devalue.stringify(value, REDUCERS);
}

/** Reads what `stringifyValue` has written. Throws for any other text. */
export function parseValue(text: string): unknown {
  return devalue.parse(text, REVIVERS);
}

function digitsOf(value: unknown): string | false {
  return isDecimal(value) && value.valueOf();
}

/** A view of a part of a larger buffer is stored as a copy of its own: the rest may be anybody's. */
function ownBytes(value: unknown): unknown {
  if (!ArrayBuffer.isView(value) || value.byteLength === value.buffer.byteLength) return false;
  const own = value.buffer.slice(value.byteOffset, value.byteOffset + value.byteLength);
  // Node's Buffer is a view of a pool; what it means is its bytes.
  if (value instanceof Uint8Array) return new Uint8Array(own);
  return new (value.constructor as new (buffer: ArrayBufferLike) => ArrayBufferView)(own);
}
