import { DevalueError } from 'devalue';

/** Where the value stands that cannot be stored, and of what type it is. */
export interface Unstorable {
  /** The names of the fields that lead to it; empty where they are not known. */
  path: string;
  type: string;
}

/**
 * Returns what may be told of an error of `devalue`, whose fields hold the value, all that it stands in, and the keys of a Map:
 * what a person has sent. So it is no `cause` either, which loggers and `onError` would write out.
 */
export function describeUnstorable(error: unknown): Unstorable {
  if (!(error instanceof DevalueError)) return { path: '', type: `a getter that threw ${nameOf(error)}` };
  return { path: (error.path ?? '').replace(MAP_KEYS, '.get(…)'), type: typeOf(error.value) };
}

const MAP_KEYS = /\.get\((?:"(?:[^"\\]|\\.)*"|[^")]*)\)/g;

function typeOf(value: unknown): string {
  return typeof value === 'object' && value !== null ? nameOf(value) : typeof value;
}

function nameOf(value: unknown): string {
  const { name } = (Object(value) as object).constructor ?? {};
  return typeof name === 'string' && /^[\w$]{1,60}$/.test(name) ? name : 'object';
}
