import type Stripe from 'stripe';
import { type Applied, idOf, NOT_OURS, orderOfPayment, type Tx } from './conclusion.ts';

/** The customer's bank has taken the money back, to decide about it: the order says since when, and a record says why. */
export async function applyDispute(tx: Tx, dispute: Stripe.Dispute): Promise<Applied> {
  const paymentIntent = idOf(dispute.payment_intent);
  const order = paymentIntent && (await orderOfPayment(tx, paymentIntent, dispute.created));
  if (!order) return NOT_OURS;
  const { id: orderId, tenant, principal } = order;
  const marked = await tx.order.updateMany({
    where: { id: orderId, disputedAt: null },
    data: { disputedAt: new Date(dispute.created * 1000) },
  });
  if (marked.count === 0) return { did: 'nothing', why: 'the order is disputed already', orderId };
  const data = { dispute: dispute.id, reason: dispute.reason, amountCents: dispute.amount };
  await tx.auditRecord.create({ data: { action: 'order.disputed', tenant, principal, orderId, data } });
  return { did: 'disputed', orderId };
}
