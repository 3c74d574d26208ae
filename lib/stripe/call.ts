import type { ForeignCall, ForeignRequest, ForeignVerdict, LookedUp } from '../engine/phases/context.ts';
import { judgeStripeError } from './verdict.ts';

/** Options for a request of the package `stripe` that only reads. */
export interface StripeReadOptions {
  /** Whole milliseconds: what the call may still take. */
  timeout: number;
  /** The kit decides what is sent again. */
  maxNetworkRetries: 0;
}

/** Options for a request of the package `stripe` that changes something. */
export interface StripeSendOptions extends StripeReadOptions {
  /** The derived key: the same for every send of this step, by whatever process. */
  idempotencyKey: string;
}

/** Throw it in `send` for an object that is not final yet, such as a payment that is `processing`: Stripe is then asked. */
export class StripePendingError extends Error {
  override readonly name = 'StripePendingError';
}

/** A foreign call to Stripe: `ForeignCall`, whose functions get the options for Stripe's client as their second argument. */
export interface StripeCall<Arguments, R, Reason extends string = string>
  extends Omit<ForeignCall<Arguments, R>, 'send' | 'lookup' | 'fromReference' | 'judge' | 'indeterminate'> {
  /** Sends it, with these options: `stripe.paymentIntents.create(params, options)`. Returns plain data, which is stored. */
  send(stored: Arguments, options: StripeSendOptions, request: ForeignRequest): Promise<R>;
  /**
   * Asks whether it was done. Needed after 24 h, and where a stored error would be replayed: without it such a key is
   * `unknown` until a person says what happened.
   */
  lookup?:
    | ((stored: Arguments, options: StripeReadOptions, request: ForeignRequest) => Promise<LookedUp<R>>)
    | undefined;
  /** Makes the result of what a person has found: an id that Stripe's dashboard shows. */
  fromReference?(reference: string, options: StripeReadOptions, request: ForeignRequest): Promise<R>;
  /** Judges an error first, such as for words of your own. Undefined: as `judgeStripeError` says. */
  judge?(error: unknown): ForeignVerdict<Reason> | undefined;
  /** Default `retry`: Stripe honours keys. */
  indeterminate?: ForeignCall<Arguments, R>['indeterminate'];
}

/** For how long Stripe's API v1 remembers a key at least, in milliseconds. */
const KEY_TTL_MS = 24 * 3_600_000;

/**
 * Makes a foreign call of a call to Stripe. Each send carries the derived key and the time that is left, and Stripe's client
 * sends nothing again by itself. Errors are judged by `judgeStripeError`. The key is relied on for 24 h, as Stripe says; calls
 * share the circuit breaker `stripe`. Whatever you give takes the place of these. An operation with `reasons` lists
 * `card_declined` among them, and what your `judge` refuses with.
 *
 * ```ts
 * const { paymentIntent } = await foreign('charged', stripeCall({
 *   arguments: { orderId, amount },
 *   send: async ({ orderId, amount }, options) => {
 *     const intent = await stripe.paymentIntents.create({ amount, currency: 'usd', metadata: { orderId } }, options);
 *     return { paymentIntent: intent.id };
 *   },
 * }));
 * ```
 */
export function stripeCall<Arguments, R, Reason extends string = never>(
  call: StripeCall<Arguments, R, Reason>,
): ForeignCall<Arguments, R, Reason | 'card_declined'> {
  const { send, lookup, fromReference, judge, ...own } = call;
  return {
    dependency: 'stripe',
    indeterminate: 'retry',
    providerKeyTtlMs: KEY_TTL_MS,
    ...own,
    send: (stored, request) =>
      send(stored, { ...readOptions(request), idempotencyKey: request.idempotencyKey }, request),
    ...(lookup ? { lookup: (stored, request) => lookup(stored, readOptions(request), request) } : {}),
    ...(fromReference
      ? { fromReference: (reference, request) => fromReference(reference, readOptions(request), request) }
      : {}),
    judge: (error) => judge?.(error) ?? (error instanceof StripePendingError ? 'look_up' : judgeStripeError(error)),
  };
}

function readOptions({ deadlineMs }: ForeignRequest): StripeReadOptions {
  return { timeout: Math.max(1, Math.floor(deadlineMs)), maxNetworkRetries: 0 };
}
