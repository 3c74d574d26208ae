import { createMessagesAdmin, joinTransaction } from 'oncekit/admin';
import { createInbox, createOutbox } from 'oncekit/messaging';
import { inbox, sources } from '../inbox.ts';
import { logAudit } from '../log.ts';
import { outbox } from '../outbox.ts';
import type { Within } from './admin.ts';

// An app that has installed the admin pages (scripts/build-registry.ts) has the same names in a file of its own.

/** Where events go to, and where they come from: what the filter offers. */
export const knownPeers: Record<'outbox' | 'inbox', readonly string[]> = {
  outbox: outbox.destinations,
  inbox: inbox.sources,
};

/** The admin view's reads and operations on messages, on the demo's database; or within a transaction on it. */
export function messagesAdmin(within?: Within) {
  if (!within) return createMessagesAdmin({ outbox, inbox, log: logAudit });
  const prisma = joinTransaction(within.tx);
  return createMessagesAdmin({
    outbox: createOutbox({ prisma, destinations: [] }),
    // It runs no event, and knows by them which ones nobody would run again.
    inbox: createInbox({ prisma, sources: sources as never }),
    log: (line) => within.afterCommit(() => logAudit(line)),
  });
}
