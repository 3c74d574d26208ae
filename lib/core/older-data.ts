import { returned } from './options.ts';

/** Each turns data of its version into that of the next one. */
export type Upcasts = Readonly<Record<number, (older: never) => unknown>>;

/**
 * Turns data of an older version into that of a newer one, one version at a time.
 *
 * @param errorOf makes what is thrown at a version that has no upcast, or whose upcast has `thrown`, or returned a promise
 */
export function upcastData(
  data: unknown,
  { from, to, upcasts }: { from: number; to: number; upcasts: Upcasts },
  errorOf: (version: number, thrown?: { cause: unknown }) => unknown,
): unknown {
  let upcasted = data;
  for (let version = from; version < to; version++) {
    const upcast = upcasts[version];
    if (!upcast) throw errorOf(version);
    try {
      upcasted = returned(`upcasts[${version}]`, upcast(upcasted as never));
    } catch (cause) {
      throw errorOf(version, { cause });
    }
  }
  return upcasted;
}

/**
 * Finds the first field of `wanted` that `stored` lacks, or has as another type. Values may differ, fields that nobody wants do
 * no harm, and a field that is null fits any type. A field that is undefined is none: so it is where an upcast reads a name that is not there.
 * Lists are compared as far as both go; within a Map, a Set or an instance of any other class nothing is.
 *
 * @returns its path, such as `.lines[0].sku`; empty for the value itself
 */
export function shapeDifference(
  stored: unknown,
  wanted: unknown,
  path = '',
  within: readonly unknown[] = [],
): { path: string; existing: string; expected: string } | undefined {
  if (isNothing(wanted) || within.includes(wanted)) return undefined;
  const [existing, expected] = [typeOf(stored), typeOf(wanted)];
  if (existing !== expected) return { path, existing: nameOf(existing), expected: nameOf(expected) };
  const isList = expected === Array;
  if (expected !== Object && !isList) return undefined;
  const fields = stored as Readonly<Record<string, unknown>>;
  for (const [name, value] of Object.entries(wanted as object)) {
    const isThere = Object.hasOwn(fields, name);
    const field = isThere ? fields[name] : undefined;
    if (field === null || (isList && !isThere)) continue;
    const place = isList ? `${path}[${name}]` : `${path}.${name}`;
    const difference = shapeDifference(field, value, place, [...within, wanted]);
    if (difference) return difference;
  }
  return undefined;
}

/** The class of an object, `Object` for one without; the name of any other type. */
function typeOf(value: unknown): unknown {
  if (isNothing(value)) return 'nothing';
  if (typeof value !== 'object') return typeof value;
  return Object.getPrototypeOf(value)?.constructor ?? Object;
}

function nameOf(type: unknown): string {
  return typeof type === 'function' ? type.name : String(type);
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === null;
}
