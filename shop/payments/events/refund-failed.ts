import { randomUUID } from 'node:crypto';
import type Stripe from 'stripe';
import { lockOrder } from '../../orders/orders.ts';
import {
  type Applied,
  idOf,
  NOT_OURS,
  NotYetBooked,
  noteOnce,
  orderOfPayment,
  ownRefund,
  type Tx,
} from './conclusion.ts';

/**
 * A refund came to nothing: the bank did not take it, or somebody has cancelled it. One that is booked here stays
 * booked, and is written down for a person, once. One that is not is kept as failed, so that nothing older that is
 * still to come has it booked.
 */
export async function applyFailedRefund(tx: Tx, refund: Stripe.Refund): Promise<Applied> {
  const paymentIntent = idOf(refund.payment_intent);
  if (!paymentIntent) return NOT_OURS;
  const asked = await ownRefund(tx, refund, paymentIntent);
  const order = asked?.order ?? (await orderOfPayment(tx, paymentIntent, refund.created));
  if (!order) return NOT_OURS;
  // Behind the lock a refund is booked or is not, and another event of this one is committed.
  await lockOrder(tx, order.id, order);
  const { id: orderId, tenant, principal } = order;
  const [providerRefund, amountCents] = [refund.id, refund.amount];
  const known = await tx.refund.findUnique({ where: { providerRefund } });
  if (known?.status === 'succeeded') {
    const about = { action: 'refund.reversed', tenant, principal, orderId };
    const { status, failure_reason: reason = null } = refund;
    const data = { refundId: known.id, providerRefund, amountCents, status, reason };
    return await noteOnce(tx, about, 'providerRefund', data);
  }
  const nothing = { did: 'nothing', why: 'it is not booked' } as const;
  if (known) return nothing;
  const own = await ownRefund(tx, refund, paymentIntent);
  // Its operation may have been told before that all is well, and is about to book that.
  if (own?.status === 'pending')
    throw new NotYetBooked(`${providerRefund} has failed, but refund ${own.id} is pending.`);
  if (own?.status === 'failed' && !own.providerRefund) {
    await tx.refund.update({ where: { id: own.id }, data: { providerRefund } });
    return nothing;
  }
  const times = { createdAt: new Date(refund.created * 1000), settledAt: new Date() };
  const whose = { orderId, tenant, principal };
  await tx.refund.create({
    data: { id: randomUUID(), ...whose, ...times, amountCents, status: 'failed', source: 'provider', providerRefund },
  });
  return nothing;
}
