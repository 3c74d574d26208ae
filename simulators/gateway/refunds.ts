import type { Call, Outcome } from './call.ts';
import type { Charge, Ledger } from './ledger.ts';
import type { Params } from './params.ts';
import { forbidden, invalid, missing } from './stripe-error.ts';
import { newDispute, newEvent, newRefund, type Origin } from './stripe-objects.ts';

const REASONS = ['duplicate', 'fraudulent', 'requested_by_customer'] as const;

/** The refunds of a charge never add up to more than the charge. Without an amount: all that is left. */
export function createRefund({ ledger, params, origin }: Call): Outcome {
  const asked = params.integer('amount', { min: 1, max: 99_999_999 });
  const given = { metadata: params.metadata(), reason: params.oneOf('reason', REASONS) ?? null };
  const charge = chargeToRefund(ledger, params);
  const left = charge.amount - charge.amount_refunded;
  if (charge.disputed) {
    const message = `Charge ${charge.id} has been charged back; cannot issue a refund.`;
    throw forbidden(message, { code: 'charge_disputed' });
  }
  if (left === 0) {
    throw forbidden(`Charge ${charge.id} has already been refunded.`, { code: 'charge_already_refunded' });
  }
  const amount = asked ?? left;
  if (amount > left) {
    const message = `Refund amount (${money(amount)}) is greater than unrefunded amount on charge (${money(left)})`;
    throw forbidden(message, { param: 'amount' });
  }
  const refund = newRefund({ ...given, amount }, charge, origin.at);
  const refunded: Charge = {
    ...charge,
    amount_refunded: charge.amount_refunded + amount,
    refunded: amount === left,
  };
  const events = [newEvent('refund.created', refund, origin), newEvent('charge.refunded', refunded, origin)];
  return { status: 200, body: refund, objects: [refund, refunded, ...events] };
}

export function findRefund({ ledger, id }: Call): Outcome {
  const refund = ledger.find('refund', id);
  if (!refund) throw missing('refund', id, 'id');
  return { status: 200, body: refund };
}

/** The customer's bank takes the money back; only the gateway's owner can make that happen, so it is no API path. */
export function dispute(ledger: Ledger, intentId: string, origin: Origin): Outcome {
  const charge = paidCharge(ledger, intentId);
  if (charge.disputed) throw forbidden(`Charge ${charge.id} is already disputed.`);
  const opened = newDispute(charge, origin.at);
  const event = newEvent('charge.dispute.created', opened, origin);
  return { status: 201, body: opened, objects: [opened, { ...charge, disputed: true }, event] };
}

/** The customer's bank does not take the money of a refund: it is the shop's again, and the refund has failed. */
export function failRefund(ledger: Ledger, id: string, origin: Origin): Outcome {
  const refund = ledger.find('refund', id);
  if (refund?.status !== 'succeeded') throw missing('refund', id, 'id');
  const failed = { ...refund, status: 'failed', failure_reason: 'expired_or_canceled_card' };
  const charge = paidCharge(ledger, String(refund.payment_intent));
  const given = { ...charge, amount_refunded: charge.amount_refunded - refund.amount, refunded: false };
  return { status: 200, body: failed, objects: [failed, given, newEvent('refund.failed', failed, origin)] };
}

function chargeToRefund(ledger: Ledger, params: Params): Charge {
  const intentId = params.text('payment_intent');
  if (intentId !== undefined) return paidCharge(ledger, intentId);
  const id = params.text('charge');
  if (id === undefined)
    throw invalid('One of the following params should be provided: payment_intent or charge.', 'payment_intent');
  const charge = ledger.find('charge', id);
  if (!charge) throw missing('charge', id, 'charge');
  if (!charge.paid) throw forbidden(`Charge ${id} failed: there is nothing to refund.`, { param: 'charge' });
  return charge;
}

function paidCharge(ledger: Ledger, intentId: string): Charge {
  const intent = ledger.find('payment_intent', intentId);
  if (!intent) throw missing('payment_intent', intentId, 'payment_intent');
  const charge = ledger.find('charge', String(intent.latest_charge));
  if (!charge?.paid) {
    const message = `This PaymentIntent (${intentId}) does not have a successful charge to refund.`;
    throw forbidden(message, { param: 'payment_intent' });
  }
  return charge;
}

const money = (cents: number) => `$${(cents / 100).toFixed(2)}`;
