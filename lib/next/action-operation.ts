import type { Operation } from '../engine/operation.ts';

/** Registered: a bundler may give the module of an action and that of a form a copy of this one each. */
const OPERATION = Symbol.for('oncekit.operation');

/**
 * Lets a server component find the operation of an action. It stands on the action's prototype: React gives an action of a
 * `'use server'` file a `bind` of its own, and a bound function keeps nothing of the first one but its prototype.
 */
export function attachOperation<F extends object>(action: F, operation: Operation<never, unknown>): F {
  const prototype = Object.create(Object.getPrototypeOf(action), { [OPERATION]: { value: operation } });
  return Object.setPrototypeOf(action, prototype);
}

/** The operation of a `serverAction`, bound or not; undefined for any other function. */
export function operationOf(action: unknown): Operation<never, unknown> | undefined {
  return Object(action)[OPERATION];
}
