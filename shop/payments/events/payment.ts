import type Stripe from 'stripe';
import { z } from 'zod';
import { lockOrder } from '../../orders/orders.ts';
import { CHARGE_STEP, isOfAmount } from '../charge.ts';
import { type Applied, NOT_OURS, noteOnce, type Tx, tell } from './conclusion.ts';

/**
 * A payment has succeeded, failed or been cancelled: its order's operation is told, and goes on. One that succeeded, of the
 * amount that was asked for, is the proof that the charge was made. Nothing is booked here. A payment that no operation waits
 * for, of an order that it has not paid, is written down for a person, once; and so is one of another amount.
 */
export async function applyPayment(tx: Tx, type: string, intent: Stripe.PaymentIntent): Promise<Applied> {
  const { success: isId, data: id } = z.uuid().safeParse(intent.metadata.order_id);
  const order = isId ? await tx.order.findUnique({ where: { id } }) : null;
  if (!order) return NOT_OURS;
  const said = `${type} ${intent.id}`;
  const isPaid = type === 'payment_intent.succeeded';
  const isAsAsked = isPaid && isOfAmount(intent, order);
  const told = await tell(tx, 'order', order, isAsAsked ? { said, step: CHARGE_STEP, succeeded: intent.id } : said);
  if (typeof told === 'object' && (isAsAsked || !isPaid)) return told;
  if (!isPaid) return { did: 'nothing', why: 'its operation has ended', orderId: order.id };

  // Behind the key: the operation may have ended while this waited for it.
  const now = await lockOrder(tx, order.id, order);
  if (!now || (isAsAsked && now.paymentIntent === intent.id))
    return { did: 'nothing', why: 'it is booked', orderId: order.id };
  const { tenant, principal } = order;
  const about = { action: 'payment.unexpected', tenant, principal, orderId: order.id };
  const { amount_received: amountCents, currency } = intent;
  const data = { paymentIntent: intent.id, amountCents, currency, orderStatus: now.status };
  return await noteOnce(tx, about, 'paymentIntent', data);
}
