import type Stripe from 'stripe';
import { z } from 'zod';
import { lockOrder } from '../../orders/orders.ts';
import { type Applied, NOT_OURS, noteOnce, type Tx, tell } from './conclusion.ts';

/**
 * A payment has succeeded, failed or been cancelled: its order's operation is told, and asks. Nothing is booked here. A
 * payment that no operation waits for, of an order that it has not paid, is written down for a person, once.
 */
export async function applyPayment(tx: Tx, type: string, intent: Stripe.PaymentIntent): Promise<Applied> {
  const { success: isId, data: id } = z.uuid().safeParse(intent.metadata.order_id);
  const order = isId ? await tx.order.findUnique({ where: { id } }) : null;
  if (!order) return NOT_OURS;
  const applied = await tell(tx, 'order', order, `${type} ${intent.id}`);
  if (applied) return applied;
  if (type !== 'payment_intent.succeeded') return { did: 'nothing', why: 'its operation has ended' };

  // Behind the key: the operation may have ended while this waited for it.
  const now = await lockOrder(tx, order.id, order);
  if (!now || now.paymentIntent === intent.id) return { did: 'nothing', why: 'it is booked' };
  const { tenant, principal } = order;
  const about = { action: 'payment.unexpected', tenant, principal, orderId: order.id };
  const data = { paymentIntent: intent.id, amountCents: intent.amount, orderStatus: now.status };
  return await noteOnce(tx, about, 'paymentIntent', data);
}
