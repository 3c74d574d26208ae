import type { ForeignCall, ForeignVerdict, LookedUp } from 'oncekit';
import { StripePendingError } from 'oncekit/stripe';
import Stripe from 'stripe';
import { receiptOf } from './charge.ts';
import { paymentCall, payments } from './payments.ts';
import { judgePayment } from './stripe-errors.ts';

/** The step of a refund that gives back. What the provider says of it names it, so it is never renamed while keys are open. */
export const RETURN_STEP = 'refund_created';

interface Return {
  refundId: string;
  orderId: string;
  paymentIntent: string;
  amountCents: number;
  /** The amount paid: tells a look-up whether there is still so much to give back. */
  paidCents: number;
}

/** The result of a refund. */
export type Returned = { providerRefund: string; returnedCents?: number } | { refused: string };

/** Gives money back, once per refund: Stripe honours the derived key for a day, and lists refunds after it. */
export function giveBack(wanted: Return): ForeignCall<Return, Returned> {
  const { stripe } = payments();
  return paymentCall({
    arguments: wanted,
    judge: judgeRefund,
    needsCompensation: (returned) => !('refused' in returned),
    receipt: (returned) =>
      'refused' in returned ? undefined : receiptOf(returned.providerRefund, returned.returnedCents),

    async send({ refundId, orderId, paymentIntent, amountCents }, options) {
      const metadata = { refund_id: refundId, order_id: orderId };
      const refund = await stripe.refunds.create(
        { payment_intent: paymentIntent, amount: amountCents, metadata },
        options,
      );
      const outcome = outcomeOf(refund);
      if (typeof outcome === 'object') return outcome.found;
      throw new StripePendingError(`The refund ${refund.id} is ${refund.status}.`);
    },

    async lookup({ refundId, paymentIntent, amountCents, paidCents }, options) {
      const refunds = await stripe.refunds
        .list({ payment_intent: paymentIntent, limit: 100 }, options)
        .autoPagingToArray({ limit: 10_000 });
      const own = refunds.filter(({ metadata }) => metadata?.refund_id === refundId).map(outcomeOf);
      const [outcome] = [...own.filter(isDone), ...own];
      if (outcome) return outcome;
      // Somebody gave it back by another way, such as the provider's own pages: no send can ever succeed.
      const returned = refunds.filter((refund) => !isRefused(refund)).reduce((sum, { amount }) => sum + amount, 0);
      return returned + amountCents > paidCents ? { found: { refused: 'already_refunded' } } : 'absent';
    },

    async fromReference(reference, options) {
      const refund = await stripe.refunds.retrieve(reference, {}, options);
      const outcome = outcomeOf(refund);
      if (refund.metadata?.refund_id === wanted.refundId && isDone(outcome)) return outcome.found;
      throw new Error(`${reference} is not the refund ${wanted.refundId}, or it is not done: ${refund.status}.`);
    },
  });
}

/** As for a charge, but for what the provider says about this very charge: it will never be given back. */
function judgeRefund(error: unknown): ForeignVerdict | undefined {
  if (error instanceof Stripe.errors.StripeError && error.code === 'charge_disputed') {
    const message = 'The payment is disputed: the bank decides about the money now.';
    return { refuse: 'refund_refused', data: { code: error.code }, status: 409, message };
  }
  return judgePayment(error);
}

function outcomeOf(refund: Stripe.Refund): LookedUp<Returned> {
  if (isRefused(refund)) return { found: { refused: refund.failure_reason ?? refund.status ?? 'failed' } };
  // Accepted, though a bank may take days to pay it out: "pending" is Stripe's promise, not a doubt.
  if (refund.status === 'succeeded' || refund.status === 'pending')
    return { found: { providerRefund: refund.id, returnedCents: refund.amount } };
  return 'pending';
}

function isRefused({ status }: Stripe.Refund): boolean {
  return status === 'failed' || status === 'canceled';
}

const isDone = (outcome: LookedUp<Returned>): outcome is { found: { providerRefund: string } } =>
  typeof outcome === 'object' && 'providerRefund' in outcome.found;
