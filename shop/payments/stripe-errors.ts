import type { ForeignVerdict } from 'oncekit';
import Stripe from 'stripe';

/**
 * Puts a declined card into the shop's words. What any other error proves, the kit says (`judgeStripeError`): undefined.
 */
export function judgePayment(error: unknown): ForeignVerdict | undefined {
  if (error instanceof Stripe.errors.StripeCardError) return refused('card_declined', declineOf(error));
  // The shopper's card does not exist. Looked at before anything is begun, and no retry will make it exist.
  if (isMissing(error) && error.param === 'payment_method') {
    return refused('card_declined', { message: 'This payment method does not exist. Choose another one.' });
  }
  return undefined;
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

function isMissing(error: unknown): error is Stripe.errors.StripeInvalidRequestError {
  return error instanceof Stripe.errors.StripeInvalidRequestError && error.code === 'resource_missing';
}
