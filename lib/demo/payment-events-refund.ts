import { randomUUID } from 'node:crypto';
import type Stripe from 'stripe';
import { z } from 'zod';
import { lockOrder } from './orders.ts';
import { type Applied, idOf, NOT_OURS, orderOfPayment, type Tx, tell } from './payment-events-said.ts';
import { bookRefund } from './refund-booking.ts';

/**
 * Money has gone back. A refund that was asked for here is booked by its own operation, which is told and asks; one from
 * the provider's own pages is booked now, once.
 */
export async function applyRefund(tx: Tx, type: string, refund: Stripe.Refund): Promise<Applied> {
  // "pending" is the provider's promise, as for a refund of our own: its bank takes days to pay it out.
  if (refund.status !== 'succeeded' && refund.status !== 'pending') {
    return { did: 'nothing', why: `the refund is ${refund.status}` };
  }
  const paymentIntent = idOf(refund.payment_intent);
  if (!paymentIntent) return NOT_OURS;
  const own = await ownRefund(tx, refund, paymentIntent);
  const told = own && (await tell(tx, 'refund', own, `${type} ${refund.id}`));
  if (told) return told;

  const order = await orderOfPayment(tx, paymentIntent, refund.created);
  if (!order) return NOT_OURS;
  // Behind the lock every refund is as it stays: our own has ended, and another event of this one is committed.
  await lockOrder(tx, order.id, order);
  const known = await tx.refund.findUnique({ where: { providerRefund: refund.id } });
  if (known) return { did: 'nothing', why: 'it is booked' };
  const asked = await ownRefund(tx, refund, paymentIntent);
  if (asked?.status === 'pending') throw new Error(`Refund ${asked.id} is pending, and no operation is to end it.`);

  // Also one under the name of a refund of ours that failed, or went through under another id: the money is gone.
  const { id: orderId, tenant, principal } = order;
  const [refundId, providerRefund, amountCents] = [randomUUID(), refund.id, refund.amount];
  await tx.refund.create({
    data: {
      id: refundId,
      orderId,
      tenant,
      principal,
      amountCents,
      status: 'succeeded',
      source: 'provider',
      providerRefund,
      createdAt: new Date(refund.created * 1000),
      settledAt: new Date(),
    },
  });
  const given = { refundId, orderId, tenant, principal, amountCents, paidCents: order.amountCents, providerRefund };
  return { did: 'booked', refundId, orderStatus: await bookRefund(tx, given) };
}

/** The refund of this shop's that the provider was asked for. It keeps our name for it, and says it again. */
async function ownRefund(tx: Tx, { metadata }: Stripe.Refund, paymentIntent: string) {
  const { success: isId, data: id } = z.uuid().safeParse(metadata?.refund_id);
  return isId ? await tx.refund.findFirst({ where: { id, order: { paymentIntent } } }) : null;
}
