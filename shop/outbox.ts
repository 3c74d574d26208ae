import { connect } from '@nats-io/transport-node';
import { createOutbox, type Destination, type Origin, type OutboxTransaction, webhook } from 'oncekit/messaging';
import { clientOrNone } from './db.ts';
import { eventSecrets } from './env.ts';
import { EVENT_STREAM, natsAddress } from './nats/address.ts';
import { natsPublisher } from './nats/publisher.ts';

/** The destinations of the shop's events. */
function destinations(): Destination[] {
  const { EVENTS_WEBHOOK_URL: url, NATS_URL: nats } = process.env;
  const found: Destination[] = [];
  // A build has no secrets, and sends nothing.
  if (process.env.NEXT_PHASE === 'phase-production-build') return found;
  if (url) found.push({ name: 'partner', publisher: webhook({ url, secrets: eventSecrets() }) });
  if (nats) {
    const publisher = natsPublisher({
      connect: (settings) => connect({ ...natsAddress(nats), ...settings }),
      subject: EVENT_STREAM.subject,
    });
    found.push({ name: 'stream', publisher });
  }
  return found;
}

const setUp = () => createOutbox({ prisma: clientOrNone(), destinations: destinations() });

const held = globalThis as { oncekitDemoOutbox?: ReturnType<typeof setUp> };

/** The shop's outbox. Once per process, as in idempotency.ts: publishers keep connections. */
held.oncekitDemoOutbox ??= setUp();
export const outbox = held.oncekitDemoOutbox;

/** The payload of an order's events. Ids and amounts: who bought is nobody else's business. */
export type Announcement =
  | { type: 'order.paid'; orderId: string; sku: string; quantity: number; amountCents: number }
  | { type: 'order.refunded'; orderId: string; refundId: string; amountCents: number; orderStatus: string }
  | { type: 'order.cancelled'; orderId: string };

/**
 * Announces it exactly if the transaction commits. The last thing a transaction does: others that announce something of
 * the same order wait from here on.
 *
 * @param from the intent it comes from, where there is one
 */
export async function announce(tx: OutboxTransaction, what: Announcement, from?: Origin): Promise<void> {
  const { type, ...payload } = what;
  await outbox.enqueue(tx, { type, aggregate: `order:${what.orderId}`, payload }, from);
}
