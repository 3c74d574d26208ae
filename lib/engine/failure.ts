import { CodedError, isSetUpWrongly } from '../core/errors.ts';
import { executedBy, type Proof, refuse } from '../core/outcome.ts';
import { isControlFlow } from '../core/redirect.ts';
import { type Store, StoreUnavailableError } from '../store/store.ts';
import { RETRY_AFTER_MS, type Run } from './call-result.ts';
import { type Config, newInstance } from './config.ts';
import type { ExecuteRequest } from './definition.ts';
import type { ErrorContext } from './error-log.ts';
import { loggedKey } from './identity.ts';

interface FailureContext {
  engine: { config: Config; store: Pick<Store<never>, 'isUnavailable'> };
  operation: string;
  request: Pick<ExecuteRequest, 'key'>;
  /** The proof of the key's effect, whatever was thrown. */
  proof: Proof;
  /** The stage at which it was thrown. */
  during: ErrorContext['during'];
  keys?: { key: string; nextKey: string } | undefined;
}

/** A set-up error is nothing that passes by itself, so nobody is told to send it again at once. */
const SET_UP_WRONGLY = 'Something is set up wrongly on our side. Once that is mended, it can be sent again.';

/**
 * The outcome of what was thrown before a claim, rolled back with one, or thrown by phases behind it.
 *
 * @throws ConfigurationError where one stands in the way of the handler: whoever has set the kit up must see it
 */
export function refusalFromError<T>(error: unknown, where: FailureContext): Run<T> {
  const { engine, proof, during, keys } = where;
  const isSetUp = isSetUpWrongly(error);
  if (isSetUp && (during === 'checks' || during === 'claim')) throw error;
  const away = findOutage(error, where);
  if (away) return refuseUnavailable(away, where);
  const executed = executedBy(proof);
  // A redirect or a notFound is no trouble: the caller passes it on to the framework.
  if (isControlFlow(error) && during !== 'phases') {
    return { outcome: refuse('internal', { executed, ...keys }), thrown: error };
  }
  const code = error instanceof CodedError ? error.code : 'internal';
  const instance = report(engine.config, error, isSetUp ? { ...where, during: 'setup' } : where);
  const later = code === 'unavailable' ? { retryAfterMs: RETRY_AFTER_MS } : {};
  const words = isSetUp ? { message: SET_UP_WRONGLY } : {};
  return { outcome: refuse(code, { executed, ...later, ...words, ...keys }), thrown: error, instance };
}

/** Returns the error that says that the database cannot be asked: one of the store's own, or of a query of the user's (C6). */
function findOutage(error: unknown, { engine }: FailureContext): unknown {
  if (error instanceof StoreUnavailableError) return error.cause ?? error;
  return engine.store.isUnavailable(error) ? error : undefined;
}

/** The outcome of a database that could not be asked, or that was told to commit and did not answer. */
export function refuseUnavailable<T>(error: unknown, where: FailureContext): Run<T> {
  const { engine, proof, keys } = where;
  const instance = report(engine.config, error, { ...where, during: 'database' });
  const executed = executedBy(proof);
  return { outcome: refuse('unavailable', { executed, retryAfterMs: RETRY_AFTER_MS, ...keys }), instance };
}

function report(
  { onError }: Config,
  error: unknown,
  { operation, request, during }: Omit<FailureContext, 'proof' | 'keys'>,
): string {
  const instance = newInstance();
  onError(error, { operation, key: loggedKey(request.key), during, instance });
  return instance;
}
