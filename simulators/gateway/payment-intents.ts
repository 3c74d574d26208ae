import type Stripe from 'stripe';
import type { Call, Outcome } from './call.ts';
import type { Params } from './params.ts';
import { GENERIC_DECLINE, type TestCard, testCard } from './payment-methods.ts';
import { forbidden, invalid, missing } from './stripe-error.ts';
import { cardOf, newCharge, newEvent, newIntent } from './stripe-objects.ts';

const CANCELABLE: Stripe.PaymentIntent.Status[] = [
  'requires_payment_method',
  'requires_capture',
  'requires_confirmation',
  'requires_action',
  'processing',
];
const CANCEL_REASONS = ['duplicate', 'fraudulent', 'requested_by_customer', 'abandoned'] as const;

/** With `confirm` the card is charged at once. */
export function createIntent(call: Call): Outcome {
  const { params, origin } = call;
  const amount = params.requiredInteger('amount', { min: 1, max: 99_999_999 });
  const currency = params.required('currency').toLowerCase();
  if (!/^[a-z]{3}$/.test(currency)) throw invalid(`Invalid currency: ${currency}.`, 'currency');
  if ((params.text('capture_method') ?? 'automatic') === 'manual') {
    throw invalid('The local gateway captures at once: capture_method "manual" is not supported.', 'capture_method');
  }
  const card = cardFrom(params);
  const description = params.text('description') ?? null;
  const given = { amount, currency, description, metadata: params.metadata(), payment_method: card?.id ?? null };
  const intent = newIntent(given, origin.at);
  if (params.flag('confirm')) {
    if (!card) throw invalid('Missing required param: payment_method.', 'payment_method', 'parameter_missing');
    return confirm(call, intent, card);
  }
  return { status: 200, body: intent, objects: [intent] };
}

export function confirmIntent(call: Call): Outcome {
  const intent = findIntent(call);
  const card = cardFrom(call.params) ?? testCard(String(intent.payment_method));
  if (intent.status === 'succeeded' || intent.status === 'canceled') {
    const why =
      intent.status === 'succeeded'
        ? 'it has already succeeded after being previously confirmed'
        : 'it has a status of canceled. Only a PaymentIntent with one of the following statuses may be confirmed: ' +
          'requires_confirmation, requires_action';
    throw unexpectedState(`You cannot confirm this PaymentIntent because ${why}.`, intent);
  }
  return confirm(call, intent, card);
}

export function cancelIntent(call: Call): Outcome {
  const intent = findIntent(call);
  const cancellation_reason = call.params.oneOf('cancellation_reason', CANCEL_REASONS) ?? null;
  if (!CANCELABLE.includes(intent.status)) {
    const statuses = CANCELABLE.join(', ');
    const why = `it has a status of ${intent.status}. Only a PaymentIntent with one of the following statuses may be`;
    throw unexpectedState(`You cannot cancel this PaymentIntent because ${why} canceled: ${statuses}.`, intent);
  }
  const canceled_at = Math.floor(call.origin.at / 1000);
  const canceled: Stripe.PaymentIntent = { ...intent, status: 'canceled', canceled_at, cancellation_reason };
  return {
    status: 200,
    body: canceled,
    objects: [canceled, newEvent('payment_intent.canceled', canceled, call.origin)],
  };
}

export function findIntent({ ledger, id }: Call): Stripe.PaymentIntent {
  const intent = ledger.find('payment_intent', id);
  if (!intent) throw missing('payment_intent', id, 'intent');
  return intent;
}

/** Tells whether these parameters charge a card: what a `decline` fault waits for. */
export function charges(params: Params): boolean {
  return params.text('confirm') === 'true';
}

function confirm({ origin, declineAnyCard }: Call, intent: Stripe.PaymentIntent, card?: TestCard): Outcome {
  if (!card) {
    const how = 'Provide one with the payment_method parameter, e.g. pm_card_visa';
    throw unexpectedState(
      `You cannot confirm this PaymentIntent because it's missing a payment method. ${how}.`,
      intent,
    );
  }
  const decline = card.decline ?? (declineAnyCard ? GENERIC_DECLINE : undefined);
  const charge = newCharge(intent, card, origin.at, decline);
  if (!decline) {
    const paid: Stripe.PaymentIntent = {
      ...intent,
      status: 'succeeded',
      amount_received: intent.amount,
      latest_charge: charge.id,
      last_payment_error: null,
      payment_method: card.id,
    };
    const event = newEvent('payment_intent.succeeded', paid, origin);
    return { status: 200, body: paid, objects: [charge, paid, event] };
  }
  const error = { ...decline, charge: charge.id, payment_method: cardOf(card), type: 'card_error' };
  // As at Stripe, the refused card is taken off: the intent waits for another one.
  const refused: Stripe.PaymentIntent = {
    ...intent,
    status: 'requires_payment_method',
    latest_charge: charge.id,
    last_payment_error: error as unknown as Stripe.PaymentIntent.LastPaymentError,
    payment_method: null,
  };
  const event = newEvent('payment_intent.payment_failed', refused, origin);
  const body = { error: { ...error, payment_intent: refused } };
  return { status: 402, body, objects: [charge, refused, event] };
}

function cardFrom(params: Params): TestCard | undefined {
  const id = params.text('payment_method');
  if (id === undefined) return undefined;
  const card = testCard(id);
  if (!card) throw missing('PaymentMethod', id, 'payment_method');
  return card;
}

function unexpectedState(message: string, intent: Stripe.PaymentIntent) {
  return forbidden(message, { code: 'payment_intent_unexpected_state', payment_intent: intent });
}
