/**
 * `oncekit/http`: the retrying client, for browsers and Node alike. Nothing of Node is reachable from here.
 *
 * @module
 */
export type { BreakerOptions } from './circuits.ts';
export { AttemptTimeoutError, CircuitOpenError, NoAnswerError, type StoppedBy } from './client-errors.ts';
export type { Clock } from './clock.ts';
export type { ClientHooks } from './hooks.ts';
export type { RetryPolicy } from './policy.ts';
export type { RetryingInit } from './prepare.ts';
export type { RetryBudgetOptions } from './retry-budget.ts';
export { createRetryingFetch, type RetryingFetch, type RetryingFetchOptions } from './retrying-fetch.ts';
export type { RetryReason } from './verdict.ts';
