import { ATTEMPT_FIELD, KEY_FIELD } from '../core/fields.ts';
import type { ExecuteRequest } from '../engine/definition.ts';

/** How code calls an action with an object instead of a form. */
export interface KeyedCall {
  key: string;
  /** More than 1 when this key is sent again. */
  attempt?: number;
}

/**
 * Reads the ways in which React and people call an action: `(form)`, `(previousState, form)` from `useActionState`,
 * `(input, { key })` from code; each behind the arguments that were bound to it, which are part of the intent (F1).
 */
export function readActionCall(args: readonly unknown[]): ExecuteRequest {
  const last = args.at(-1);
  if (last instanceof FormData) {
    const before = args.slice(0, -1);
    const bound = isPreviousState(before.at(-1)) ? before.slice(0, -1) : before;
    const key = last.get(KEY_FIELD);
    const attempt = Number(last.get(ATTEMPT_FIELD) ?? 1);
    return {
      key: typeof key === 'string' ? key : undefined,
      payload: last,
      context: bound,
      attempt: Number.isInteger(attempt) ? attempt : 1,
    };
  }
  const { key, attempt } = (
    args.length > 1 && typeof last === 'object' && last !== null ? last : {}
  ) as Partial<KeyedCall>;
  return { key, attempt, payload: args.at(-2), context: args.slice(0, -2) };
}

/**
 * What `useActionState` puts before the form: nothing at first, then the last outcome. A bound argument must be
 * neither: bind something else than null.
 */
function isPreviousState(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  const { ok, replayed, code, executed } = value as Partial<Record<string, unknown>>;
  return ok === true
    ? typeof replayed === 'boolean'
    : ok === false && typeof code === 'string' && executed !== undefined;
}
