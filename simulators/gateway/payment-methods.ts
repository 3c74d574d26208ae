/** Stripe's test payment methods (https://docs.stripe.com/testing): which card each of them is, and how it declines. */

export interface Decline {
  code: string;
  decline_code: string;
  message: string;
}

export interface TestCard {
  id: string;
  brand: string;
  last4: string;
  decline?: Decline;
}

export const GENERIC_DECLINE: Decline = {
  code: 'card_declined',
  decline_code: 'generic_decline',
  message: 'Your card was declined.',
};

const cards = new Map<string, [brand: string, last4: string]>([
  ['pm_card_visa', ['visa', '4242']],
  ['pm_card_visa_debit', ['visa', '5556']],
  ['pm_card_mastercard', ['mastercard', '4444']],
  ['pm_card_amex', ['amex', '8431']],
  ['pm_card_discover', ['discover', '1117']],
  ['pm_card_diners', ['diners', '0004']],
  ['pm_card_jcb', ['jcb', '0505']],
  ['pm_card_unionpay', ['unionpay', '0005']],
]);

const declines = new Map<string, [last4: string, Decline]>([
  ['', ['0002', GENERIC_DECLINE]],
  ['InsufficientFunds', ['9995', declined('insufficient_funds', 'Your card has insufficient funds.')]],
  ['LostCard', ['9987', declined('lost_card', 'Your card was declined.')]],
  ['StolenCard', ['9979', declined('stolen_card', 'Your card was declined.')]],
  ['ExpiredCard', ['0069', failed('expired_card', 'Your card has expired.')]],
  ['IncorrectCvc', ['0127', failed('incorrect_cvc', "Your card's security code is incorrect.")]],
  ['ProcessingError', ['0119', failed('processing_error', 'An error occurred while processing your card.')]],
]);

/** `pm_card_visa_chargeDeclined…` is the newer spelling of `pm_card_chargeDeclined…`; both work. */
export function testCard(id: string): TestCard | undefined {
  const card = cards.get(id);
  if (card) return { id, brand: card[0], last4: card[1] };
  const decline = declines.get(/^pm_card_(?:visa_)?chargeDeclined(\w*)$/.exec(id)?.[1] ?? 'none');
  return decline && { id, brand: 'visa', last4: decline[0], decline: decline[1] };
}

function declined(decline_code: string, message: string): Decline {
  return { code: 'card_declined', decline_code, message };
}

function failed(code: string, message: string): Decline {
  return { code, decline_code: code, message };
}
