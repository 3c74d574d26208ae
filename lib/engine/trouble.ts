import { CodedError } from '../core/errors.ts';
import { type Executed, refuse } from '../core/outcome.ts';
import { isControlFlow } from '../core/redirect.ts';
import { StoreUnavailableError } from '../store/store.ts';
import { type Config, newInstance } from './config.ts';
import type { ExecuteRequest } from './definition.ts';
import { RETRY_AFTER_MS, type Run } from './interpret.ts';

/**
 * The outcome of what was thrown before a claim or rolled back with one. Nothing was committed by this attempt; for a
 * retry that proves nothing about the attempts before it.
 */
export function refusalOf<T>(
  error: unknown,
  config: Config,
  operation: string,
  request: ExecuteRequest,
  keys: { key?: string; nextKey?: string } = {},
): Run<T> {
  const executed: Executed = (request.attempt ?? 1) > 1 ? 'unknown' : false;
  if (error instanceof StoreUnavailableError) {
    return { outcome: refuse('unavailable', { executed, retryAfterMs: RETRY_AFTER_MS, ...keys }) };
  }
  const code = error instanceof CodedError ? error.code : 'internal';
  // A redirect or a notFound is no trouble: the caller passes it on to the framework.
  if (!isControlFlow(error) && code !== 'malformed_body' && code !== 'payload_too_large') {
    config.onError(error, { operation, key: request.key ?? '', during: 'handler', instance: newInstance() });
  }
  return { outcome: refuse(code, { executed, ...keys }), thrown: error };
}
