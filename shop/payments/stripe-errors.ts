import type { ForeignVerdict } from 'oncekit';
import Stripe from 'stripe';

/** The provider has not decided yet: sending again would show the same answer, so it is asked. */
export class PaymentPending extends Error {
  override readonly name = 'PaymentPending';
}

/**
 * What an error of Stripe's proves. Only two things are certain: a declined card, which ends the intent, and a request
 * that was never looked at, which is sent again. Everything else may have been done.
 * (https://docs.stripe.com/error-handling, https://docs.stripe.com/error-low-level)
 */
export function judgePayment(error: unknown): ForeignVerdict {
  if (error instanceof PaymentPending) return 'look_up';
  if (error instanceof Stripe.errors.StripeConnectionError) {
    return neverLeft(error.detail) ? 'not_executed' : 'indeterminate';
  }
  if (error instanceof Stripe.errors.StripeCardError) {
    return refused('card_declined', declineOf(error));
  }
  if (!(error instanceof Stripe.errors.StripeError)) return 'indeterminate';
  const { statusCode = 0, code } = error;
  // 401 and 403 are about our key: nothing was begun, and it goes on once a person has put the key right.
  if ([401, 403, 429].includes(statusCode)) return 'not_executed';
  // Under this key it will never say anything else; what came of the first request, a question finds out.
  if (isReplayed(error)) return 'look_up';
  if (statusCode >= 500) return 'indeterminate';
  // Our key is in use: another send of it is under way, ask or send later.
  if (statusCode === 409) return 'indeterminate';
  // The shopper's card does not exist. Looked at before anything is begun, and no retry will make it exist.
  if (code === 'resource_missing' && error.param === 'payment_method') {
    return refused('card_declined', { message: 'This payment method does not exist. Choose another one.' });
  }
  // Other parameters under our key, "already done", or a request that Stripe finds wrong: our own mistake. Nobody is
  // told "failed" on that ground, for an earlier send may have been done. We ask; if the provider knows nothing and
  // still refuses, the key ends with a person, who sees the mistake as well.
  return statusCode >= 400 ? 'look_up' : 'indeterminate';
}

export interface Decline {
  declineCode?: string | undefined;
  message: string;
}

/** A decline in words for the shopper. */
export function declineOf({ code, decline_code }: { code?: string | undefined; decline_code?: string | undefined }) {
  const declineCode = decline_code || code;
  const why = declineCode ? (reasons[declineCode] ?? 'Your card was declined.') : 'Your card was declined.';
  return { declineCode, message: `${why} Nothing was charged; you can choose another card.` };
}

/** The stored refusal (402) that a declined card ends in, from whichever side it becomes known. */
export function refused(reason: string, { declineCode, message }: Decline) {
  return { refuse: reason, data: declineCode ? { decline_code: declineCode } : {}, status: 402, message };
}

/** Only what a shopper can do something about; the rest is none of a shop's business to repeat. */
const reasons: Record<string, string> = {
  insufficient_funds: 'Your card has insufficient funds.',
  expired_card: 'Your card has expired.',
  incorrect_cvc: 'The security code of your card is wrong.',
  authentication_required: 'Your bank asks for a confirmation that this shop cannot show.',
};

function isReplayed({ headers }: Stripe.errors.StripeError): boolean {
  return headers?.['idempotent-replayed'] === 'true';
}

/** Whether the connection was refused, or its host not found: then no byte of the request was sent. */
function neverLeft(detail: unknown): boolean {
  const { code, syscall } = (detail ?? {}) as NodeJS.ErrnoException;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return true;
  // Of several addresses tried, Node reports all in one error, without a syscall.
  return code === 'ECONNREFUSED' && (syscall === 'connect' || detail instanceof AggregateError);
}
