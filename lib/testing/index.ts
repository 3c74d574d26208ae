/**
 * `oncekit/testing`: what shows that an endpoint keeps the contract. Never imported by the kit itself.
 *
 * @module
 */

export * from './browser.ts';
export { type ConformanceCase, ConformanceError } from './conformance/endpoint.ts';
export { casesFor, conformanceCases } from './conformance/suite.ts';
export { type ConformanceTarget, type JsonObject, mintKeyAt } from './conformance/target.ts';
export { expectExactlyOne, NotExactlyOneError } from './playwright/expect.ts';
export {
  doubleSubmit,
  goOffline,
  type LoseResponseOptions,
  type LostResponses,
  loseResponse,
  reloadMidFlight,
} from './playwright/faults.ts';
