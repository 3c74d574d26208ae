/**
 * `oncekit/http`: the retrying client, for browsers and Node alike. Nothing of Node is reachable from here.
 *
 * @module
 */

export type { RetryingInit } from './client/call.ts';
export { AttemptTimeoutError, CircuitOpenError, NoAnswerError, type StoppedBy } from './client/errors.ts';
export type { BreakerOptions, RetryBudgetOptions, RetryPolicy } from './client/policy.ts';
export {
  type ClientHooks,
  createRetryingFetch,
  type RetryingFetch,
  type RetryingFetchOptions,
  type RetryReason,
} from './client/retrying-fetch.ts';
export type { Clock } from './client/send-once.ts';
