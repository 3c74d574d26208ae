/**
 * The `oncekit/testing` of browsers (the `browser` condition of the package's exports): all of it that needs no
 * Node. Tests of forms run here as well as under Node with jsdom.
 *
 * @module
 */
export { refuse } from '../core/outcome.ts';
export { serveStatus } from './serve-status.ts';
export type { Arrival, TestEffect, TestKeyStatus } from './test-keys.ts';
export {
  type Held,
  type HoldingPoint,
  type TestOperation,
  type TestOperationOptions,
  testOperation,
} from './test-operation.ts';
