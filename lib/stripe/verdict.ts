import type { ForeignVerdict } from '../engine/phases/context.ts';

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

/** Tells whether the connection was refused, or its host not found: then no byte of the request was sent. */
function neverLeft(detail: unknown): boolean {
  const { code, syscall } = (detail ?? {}) as { code?: unknown; syscall?: unknown };
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return true;
  // Of several addresses tried, Node reports all in one error, without a syscall.
  return code === 'ECONNREFUSED' && (syscall === 'connect' || detail instanceof AggregateError);
}
