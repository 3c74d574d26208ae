import { randomUUID } from 'node:crypto';
import type Stripe from 'stripe';
import { lockOrder } from '../../orders/orders.ts';
import { bookRefund } from '../refund-booking.ts';
import { RETURN_STEP } from '../refund-call.ts';
import { type Applied, idOf, NOT_OURS, noteOnce, orderOfPayment, ownRefund, type Tx, tell } from './conclusion.ts';
import { applyFailedRefund } from './refund-failed.ts';

/**
 * Money has gone back. A refund that was asked for here is booked by its own operation, to which this is the proof; one from
 * the provider's own pages is booked now, once. Under the name of one of ours that has ended otherwise, or of another amount,
 * it is also written down for a person, once. For one that has failed see `applyFailedRefund`.
 */
export async function applyRefund(tx: Tx, type: string, refund: Stripe.Refund): Promise<Applied> {
  if (refund.status === 'failed' || refund.status === 'canceled') return await applyFailedRefund(tx, refund);
  // "pending" is the provider's promise, as for a refund of our own: its bank takes days to pay it out.
  if (refund.status !== 'succeeded' && refund.status !== 'pending') {
    return { did: 'nothing', why: `the refund is ${refund.status}` };
  }
  const paymentIntent = idOf(refund.payment_intent);
  if (!paymentIntent) return NOT_OURS;
  const own = await ownRefund(tx, refund, paymentIntent);
  const isAsAsked = own?.amountCents === refund.amount;
  const said = `${type} ${refund.id}`;
  const told =
    own && (await tell(tx, 'refund', own, isAsAsked ? { said, step: RETURN_STEP, succeeded: refund.id } : said));
  if (typeof told === 'object' && told && isAsAsked) return told;

  const order = own?.order ?? (await orderOfPayment(tx, paymentIntent, refund.created));
  if (!order) return NOT_OURS;
  const { id: orderId, tenant, principal } = order;
  const [providerRefund, amountCents] = [refund.id, refund.amount];
  // Behind the lock every refund is as it stays: our own has ended, and another event of this one is committed.
  await lockOrder(tx, order.id, order);
  const known = await tx.refund.findUnique({ where: { providerRefund } });
  const about = { action: 'refund.unexpected', tenant, principal, orderId };
  const note = { refundId: own?.id ?? null, providerRefund, amountCents };
  if (own && !known && (told === 'contradicts' || !isAsAsked)) await noteOnce(tx, about, 'providerRefund', note);
  if (typeof told === 'object' && told) return told;
  if (known)
    return { did: 'nothing', why: known.status === 'failed' ? 'it has failed since' : 'it is booked', orderId };
  const asked = await ownRefund(tx, refund, paymentIntent);
  if (asked?.status === 'pending') throw new Error(`Refund ${asked.id} is pending, and no operation is to end it.`);
  // The books never held the payment that it is of: a person hears of it, also when its key has gone.
  if (own?.source === 'unexpected') return await noteOnce(tx, about, 'providerRefund', note);

  // Also one under the name of a refund of ours that failed, or went through under another id: the money is gone.
  const refundId = randomUUID();
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
