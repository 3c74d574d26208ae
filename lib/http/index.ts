/**
 * `oncekit/http`: the retrying client, for browsers and Node alike. Nothing of Node is reachable from here.
 *
 * @module
 */

export type { RetryingInit } from './client/call.ts';
export type { BreakerOptions } from './client/circuits.ts';
export type { Clock } from './client/clock.ts';
export { AttemptTimeoutError, CircuitOpenError, NoAnswerError, type StoppedBy } from './client/errors.ts';
export type { RetryPolicy, RetryReason } from './client/policy.ts';
export type { RetryBudgetOptions } from './client/retry-budget.ts';
export {
  type ClientHooks,
  createRetryingFetch,
  type RetryingFetch,
  type RetryingFetchOptions,
} from './client/retrying-fetch.ts';
