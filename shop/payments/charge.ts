import type { ForeignCall, LookedUp } from 'oncekit';
import { StripePendingError } from 'oncekit/stripe';
import type Stripe from 'stripe';
import { dollars } from '../orders/money.ts';
import { paymentCall, payments } from './payments.ts';
import { type Decline, declineOf, judgePayment } from './stripe-errors.ts';

/** The step of a sale that charges. What the provider says of it names it, so it is never renamed while keys are open. */
export const CHARGE_STEP = 'charge_created';

/** The one currency of this shop. */
export const CURRENCY = 'usd';

interface Charge {
  orderId: string;
  amountCents: number;
  paymentMethod: string;
}

/**
 * The result of a charge. A decline that a look-up finds is a result: the card is not tried a second time. One that an older deploy
 * has stored does not say how much was received.
 */
export type Charged = { paymentIntent: string; receivedCents?: number } | { declined: Decline };

/** Charges a card, once per order: Stripe honours the derived key for a day, and is asked by the order's id after it. */
export function charge(wanted: Charge): ForeignCall<Charge, Charged> {
  const { stripe } = payments();
  return paymentCall({
    arguments: wanted,
    judge: judgePayment,
    needsCompensation: (charged) => 'paymentIntent' in charged,
    receipt: (charged) =>
      'paymentIntent' in charged ? receiptOf(charged.paymentIntent, charged.receivedCents) : undefined,

    async send({ orderId, amountCents, paymentMethod }, options) {
      const intent = await stripe.paymentIntents.create(
        {
          amount: amountCents,
          currency: CURRENCY,
          payment_method: paymentMethod,
          confirm: true,
          metadata: { order_id: orderId },
          automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
        },
        options,
      );
      const outcome = outcomeOf(intent);
      if (typeof outcome === 'object') return outcome.found;
      throw new StripePendingError(`The payment intent ${intent.id} is ${intent.status}.`);
    },

    async lookup({ orderId }, options) {
      const query = `metadata['order_id']:'${orderId}'`;
      const { data } = await stripe.paymentIntents.search({ query, limit: 100 }, options);
      // Several when the provider had forgotten the key after a decline: money that moved counts, then what may still
      // move, then a decline.
      const outcomes = data.map(outcomeOf);
      return outcomes.find(isPaid) ?? outcomes.find((each) => each === 'pending') ?? outcomes.find(isFound) ?? 'absent';
    },

    async fromReference(reference, options) {
      const intent = await stripe.paymentIntents.retrieve(reference, {}, options);
      const outcome = outcomeOf(intent);
      const isOurs = intent.metadata.order_id === wanted.orderId && isOfAmount(intent, wanted);
      if (isOurs && isPaid(outcome)) return outcome.found;
      throw new Error(
        `${reference} is no payment of ${wanted.amountCents} ${CURRENCY} for the order ${wanted.orderId}, or it is not paid: ${intent.status}.`,
      );
    },
  });
}

/** Tells whether as much was received as the call asks for. */
export function isOfAmount(
  { amount_received, currency }: Stripe.PaymentIntent,
  { amountCents }: Pick<Charge, 'amountCents'>,
): boolean {
  return amount_received === amountCents && currency === CURRENCY;
}

/** What is kept of money that was moved, once its key has settled: what the provider calls it, and how much it said it was. */
export function receiptOf(reference: string, cents: number | undefined) {
  return { reference, amount: cents === undefined ? undefined : dollars(cents) };
}

function outcomeOf(intent: Stripe.PaymentIntent): LookedUp<Charged> {
  const { id, status, last_payment_error: error } = intent;
  if (status === 'succeeded') return { found: { paymentIntent: id, receivedCents: intent.amount_received } };
  if (status === 'processing' || status === 'requires_capture') return 'pending';
  if (status === 'requires_payment_method' && error) return { found: { declined: declineOf(error) } };
  // A confirmation in the browser, which this shop does not offer. Nobody else can give it: nobody has its secret.
  if (status === 'requires_action') return { found: { declined: declineOf({ code: 'authentication_required' }) } };
  // Never confirmed, or cancelled: no money moved, and none will.
  return 'absent';
}

const isFound = (outcome: LookedUp<Charged>) => typeof outcome === 'object';
const isPaid = (outcome: LookedUp<Charged>): outcome is { found: { paymentIntent: string } } =>
  typeof outcome === 'object' && 'paymentIntent' in outcome.found;
