import type { Charge, Ledger, Refund } from './ledger.ts';

/** Movements of money, oldest first: for tests, the fault lab and whoever reconciles. */
export function ledgerView(ledger: Ledger, orderId: string | null) {
  const charges = ledger.all('charge').filter(({ paid }) => paid);
  const isOfOrder = (object: Charge | Refund) => orderId === null || object.metadata?.order_id === orderId;
  // A refund need not repeat the order that its charge names.
  const chargeOf = (refund: Refund) => ledger.find('charge', refund.charge);
  return {
    charges: charges.filter(isOfOrder).map(({ id, payment_intent, amount, currency, metadata, created }) => ({
      id,
      payment_intent,
      amount,
      currency,
      metadata,
      idempotency_key: ledger.madeWith(id),
      created,
    })),
    refunds: ledger
      .all('refund')
      .filter(({ status }) => status === 'succeeded')
      .filter((refund) => isOfOrder(refund) || isOfOrder(chargeOf(refund) ?? refund))
      .map(({ id, payment_intent, charge, amount, metadata, created }) => ({
        id,
        payment_intent,
        charge,
        amount,
        metadata,
        idempotency_key: ledger.madeWith(id),
        created,
      })),
  };
}
