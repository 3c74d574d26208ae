import type { ReceivedEvent } from 'oncekit/messaging';
import type Stripe from 'stripe';
import type { Applied, Tx } from './conclusion.ts';
import { applyDispute } from './dispute.ts';
import { applyPayment } from './payment.ts';
import { applyRefund } from './refund.ts';

/** The part that is the same in every delivery of an event: not how many endpoints still wait for it. */
export function comparePaymentEvent({ type, data }: Stripe.Event): unknown {
  return { type, object: data.object };
}

/**
 * Books an event of the payment provider: in one transaction with the inbox's row, so it counts once. Events come
 * late, twice and in any order, so each effect names the state that it leaves; one that came too early throws, and is
 * tried again. No calls to the provider in here: what has to be asked is asked by the operation whose key is woken.
 *
 * Locks, in this order: the event's row, which no executor takes; the key's row, as its executor does; the order's row;
 * the row that numbers the order's announcements. Nobody who holds a later one asks for an earlier one, so an event and
 * an executor wait for each other, but never in a circle.
 */
export async function applyPaymentEvent(tx: Tx, { payload }: ReceivedEvent): Promise<Applied> {
  const event = payload as Stripe.Event;
  switch (event.type) {
    case 'payment_intent.succeeded':
    case 'payment_intent.payment_failed':
    case 'payment_intent.canceled':
      return await applyPayment(tx, event.type, event.data.object);
    // The later ones for what a bank took its time about. `charge.refunded` says the same once more, but not which refund.
    case 'refund.created':
    case 'refund.updated':
    case 'refund.failed':
      return await applyRefund(tx, event.type, event.data.object);
    case 'charge.dispute.created':
      return await applyDispute(tx, event.data.object);
    default:
      return { did: 'nothing', why: 'this shop does nothing about events of this type' };
  }
}
