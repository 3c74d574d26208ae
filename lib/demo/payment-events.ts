import type { ReceivedEvent } from 'oncekit/messaging';
import type Stripe from 'stripe';
import type { Client } from './db.ts';

type Tx = Pick<Client, 'order'>;

/** What must be the same in every delivery of an event: not how many endpoints still wait for it. */
export function comparePaymentEvent({ type, data }: Stripe.Event): unknown {
  return { type, object: data.object };
}

/** What the payment provider says has happened. */
export async function applyPaymentEvent(_tx: Tx, { eventId }: ReceivedEvent): Promise<unknown> {
  return { eventId };
}
