import { CodedError, ConfigurationError } from '../core/errors.ts';
import { type Executed, refuse } from '../core/outcome.ts';
import { isControlFlow } from '../core/redirect.ts';
import { type Store, StoreUnavailableError } from '../store/store.ts';
import { unclaimed } from './call.ts';
import { type Config, newInstance } from './config.ts';
import type { ExecuteRequest } from './definition.ts';
import { loggedKey } from './identify.ts';
import { RETRY_AFTER_MS, type Run } from './interpret.ts';

interface Where {
  engine: { config: Config; store: Pick<Store<never>, 'isUnavailable'> };
  operation: string;
  request: ExecuteRequest;
  keys?: { key: string; nextKey: string };
}

/**
 * The outcome of what was thrown before a claim or rolled back with one. Nothing was committed by this attempt; for a
 * retry that proves nothing about the attempts before it.
 */
export function refusalOf<T>(error: unknown, where: Where): Run<T> {
  const { request, keys } = where;
  const executed = unclaimed(request);
  const away = databaseIsAway(error, where);
  if (away) return unavailable(away, where);
  // A redirect or a notFound is no trouble: the caller passes it on to the framework.
  if (isControlFlow(error)) return { outcome: refuse('internal', { executed, ...keys }), thrown: error };
  return reported(error, where, { executed, during: 'handler' });
}

/**
 * The outcome of an error in phases, after the claim: what was finished stands. A retry with the same key goes on from
 * there, and so does the completer; so nothing is known of the effect yet.
 */
export function suspended<T>(error: unknown, where: Where): Run<T> {
  const away = databaseIsAway(error, where);
  if (away) return unavailable(away, where, true);
  return reported(error, where, { executed: 'unknown', during: 'phases' });
}

/** What says that the database cannot be asked: of the store's own questions, or of a query of the user's (C6). */
function databaseIsAway(error: unknown, { engine }: Where): unknown {
  if (error instanceof StoreUnavailableError) return error.cause ?? error;
  return engine.store.isUnavailable(error) ? error : undefined;
}

function reported<T>(
  error: unknown,
  { engine, operation, request, keys }: Where,
  { executed, during }: { executed: Executed; during: 'handler' | 'phases' },
): Run<T> {
  const code = error instanceof CodedError ? error.code : 'internal';
  const instance = newInstance();
  engine.config.onError(error, { operation, key: loggedKey(request.key), during, instance });
  const later = code === 'unavailable' ? { retryAfterMs: RETRY_AFTER_MS } : {};
  return { outcome: refuse(code, { executed, ...later, ...keys }), thrown: error, instance };
}

/** The outcome of a database that could not be asked. `inDoubt`: it was told to commit and did not answer. */
export function unavailable<T>(error: unknown, { engine, operation, request, keys }: Where, inDoubt = false): Run<T> {
  const instance = newInstance();
  engine.config.onError(error, { operation, key: loggedKey(request.key), during: 'database', instance });
  const executed = inDoubt ? 'unknown' : unclaimed(request);
  return { outcome: refuse('unavailable', { executed, retryAfterMs: RETRY_AFTER_MS, ...keys }), instance };
}

/** A kit that is set up wrongly must be seen by whoever set it up; it is no answer to give to a customer. */
export function throwIfSetUpWrongly(error: unknown): void {
  if (error instanceof ConfigurationError) throw error;
}
