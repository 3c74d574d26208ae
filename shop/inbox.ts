import { createInbox } from 'oncekit/messaging';
import { clientOrNone } from './db.ts';
import { applyPaymentEvent, comparePaymentEvent } from './payments/events/events.ts';
import { applyShopEvent } from './receiver/events.ts';

export const sources = {
  /** The payment provider's webhooks. */
  stripe: { compare: comparePaymentEvent, handle: applyPaymentEvent },
  /** The shop's own events, as the demo's receiver gets them. */
  shop: { handle: applyShopEvent },
};

const setUp = () =>
  createInbox({
    prisma: clientOrNone(),
    // Over 4 to 8 h, as the outbox sends: an event that waits for a checkout to end waits for a worker that was away.
    attempts: 20,
    sources,
  });

const held = globalThis as { oncekitDemoInbox?: ReturnType<typeof setUp> };

/** The shop's inbox. Once per process, as in idempotency.ts: deliveries of one event wait for each other in it. */
held.oncekitDemoInbox ??= setUp();
export const inbox = held.oncekitDemoInbox;
