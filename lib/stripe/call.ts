import { parseRetryAfter } from '../core/backoff.ts';
import type { ForeignCall, ForeignRequest, ForeignVerdict, LookedUp } from '../engine/phases/context.ts';

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
 * sends nothing again by itself. Errors are judged by `judgeStripeError`, and a `Retry-After` is followed. The key is relied on for 24 h, as Stripe says; calls
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
    send: async (stored, request) => {
      const options = { ...readOptions(request), idempotencyKey: request.idempotencyKey };
      try {
        return await send(stored, options, request);
      } catch (error) {
        throw withPause(error);
      }
    },
    ...(lookup && { lookup: (stored, request) => lookup(stored, readOptions(request), request) }),
    ...(fromReference && {
      fromReference: (reference, request) => fromReference(reference, readOptions(request), request),
    }),
    judge: (error) => judge?.(error) ?? (error instanceof StripePendingError ? 'look_up' : judgeStripeError(error)),
  };
}

function readOptions({ deadlineMs }: ForeignRequest): StripeReadOptions {
  return { timeout: Math.max(1, Math.floor(deadlineMs)), maxNetworkRetries: 0 };
}

/** An error of the package `stripe`, by its shape, so that none of its versions is imported and any can be judged. */
interface StripeFailure {
  /** The type in the answer, such as `card_error`; undefined where there was no answer. */
  readonly rawType: string | undefined;
  readonly statusCode: number | undefined;
  readonly code?: string | undefined;
  readonly decline_code?: string | undefined;
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
  /** The error of the connection, where that is what broke. */
  readonly detail?: unknown;
}

/**
 * Says what an error of a request to Stripe proves, for a call that is sent under an idempotency key. Certain are three
 * things: a declined card ends the intent (`card_declined`, 402); a request that Stripe's limiter or its check of the API key
 * has turned away was not executed, and neither was one that found no server. Everything else may have been done: the
 * same key is sent again (`indeterminate`), or Stripe is asked where its stored answer would only be replayed (`look_up`).
 *
 * After https://docs.stripe.com/error-low-level and https://docs.stripe.com/api/idempotent_requests.
 */
export function judgeStripeError(error: unknown): ForeignVerdict<'card_declined'> {
  if (!isStripeFailure(error)) return 'indeterminate';
  const { statusCode, rawType, code } = error;
  if (statusCode === undefined) return neverLeft(error.detail) ? 'not_executed' : 'indeterminate';
  if (rawType === 'card_error') return declined(error);
  // The request has met another one at the same object, or under the same key. Nothing says how far it came.
  if (code === 'lock_timeout' || statusCode === 409) return 'indeterminate';
  // The limiter stands before the keys. 401 and 403 are about the API key: sent again once a person has put it right.
  if (statusCode === 429 || statusCode === 401 || statusCode === 403) return 'not_executed';
  // Under this key nothing else is ever said, and a stored 500 may stand beside a charge that was made.
  if (error.headers?.['idempotent-replayed'] === 'true') return 'look_up';
  if (statusCode >= 500) return 'indeterminate';
  // Other parameters under the key (`idempotency_error`), "done already", or a request that is wrong: a mistake of the
  // caller's. Nobody is told "failed" on that ground, because an earlier send may have been done.
  return statusCode >= 400 ? 'look_up' : 'indeterminate';
}

function declined({ code, decline_code }: StripeFailure): ForeignVerdict<'card_declined'> {
  const declineCode = decline_code ?? code;
  const data = declineCode === undefined ? {} : { decline_code: declineCode };
  return { refuse: 'card_declined', status: 402, data, message: 'The card was declined, and nothing was charged.' };
}

function isStripeFailure(error: unknown): error is StripeFailure {
  return error instanceof Error && 'rawType' in error && 'statusCode' in error;
}

/** The error, with the time for which Stripe asks to be left alone, in milliseconds: the kit follows it. */
function withPause(error: unknown): unknown {
  const retryAfterMs = isStripeFailure(error) && parseRetryAfter(error.headers?.['retry-after'] ?? null, Date.now());
  return retryAfterMs ? Object.assign(error as object, { retryAfterMs }) : error;
}

/** Tells whether the connection was refused, or its host not found: then no byte of the request was sent. */
function neverLeft(detail: unknown): boolean {
  const { code, syscall } = (detail ?? {}) as { code?: unknown; syscall?: unknown };
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return true;
  // Of several addresses tried, Node reports all in one error, without a syscall.
  return code === 'ECONNREFUSED' && (syscall === 'connect' || detail instanceof AggregateError);
}
