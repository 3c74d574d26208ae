/**
 * `oncekit/testing`: what shows that an endpoint keeps the contract. Never imported by the kit itself.
 *
 * @module
 */

export * from './browser.ts';
export { type ConformanceCase, ConformanceError } from './conformance/endpoint.ts';
export { casesFor, conformanceCases } from './conformance/suite.ts';
export type { ConformanceTarget, JsonObject } from './conformance/target.ts';
export { mintKeyAt } from './mint-key-at.ts';
export { expectExactlyOne, NotExactlyOneError } from './playwright/expect.ts';
export { doubleSubmit, reloadMidFlight } from './playwright/gestures.ts';
export { goOffline, type LoseResponseOptions, type LostResponses, loseResponse } from './playwright/network.ts';
