import { ATTEMPT_FIELD, KEY_FIELD, type KeyedCall } from '../core/fields.ts';
import type { ExecuteRequest } from '../engine/definition.ts';

/**
 * Reads the ways in which React and people call an action: `(form)`, `(previousState, form)` from `useActionState`,
 * `(values, { key })` from code and from a form that sends values; each behind the arguments that were bound to it, which are part of the intent (F1).
 */
export function readActionCall(args: readonly unknown[]): ExecuteRequest {
  const last = args.at(-1);
  if (last instanceof FormData) {
    const before = args.slice(0, -1);
    const bound = isPreviousState(before.at(-1)) ? before.slice(0, -1) : before;
    const key = last.get(KEY_FIELD);
    return {
      key: typeof key === 'string' ? key : undefined,
      payload: last,
      context: bound,
      attempt: attemptOf(last.get(ATTEMPT_FIELD)),
    };
  }
  const { key, attempt } = (
    args.length > 1 && typeof last === 'object' && last !== null ? last : {}
  ) as Partial<KeyedCall>;
  return { key, attempt: attemptOf(attempt), payload: args.at(-2), context: args.slice(0, -2) };
}

/**
 * How often the key was sent, as its form or its caller says; nothing where they do not say so, as without JavaScript. Both come from
 * a browser, which may send anything in its place, and it goes into a log line.
 */
function attemptOf(said: unknown): number | undefined {
  return (typeof said === 'string' || typeof said === 'number') && /^[1-9]\d{0,8}$/.test(`${said}`)
    ? Number(said)
    : undefined;
}

/**
 * The argument that `useActionState` puts before the form: nothing at first, then the last outcome. A bound argument must be
 * neither: bind something else than null.
 */
function isPreviousState(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  const { ok, replayed, code, executed } = value as Partial<Record<string, unknown>>;
  return ok === true
    ? typeof replayed === 'boolean'
    : ok === false && typeof code === 'string' && executed !== undefined;
}
