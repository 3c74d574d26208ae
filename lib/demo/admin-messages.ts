import { createMessagesAdmin } from 'oncekit/admin';
import { inbox } from './inbox.ts';
import { outbox } from './outbox.ts';

// An app that has installed the admin pages (scripts/registry.ts) has the same names in a file of its own.

/** Where events go to, and where they come from: what the filter offers. */
export const knownPeers: Record<'outbox' | 'inbox', readonly string[]> = {
  outbox: outbox.destinations,
  inbox: inbox.sources,
};

/** The admin view's reads and operations on messages, on the demo's database. */
export function messagesAdmin() {
  return createMessagesAdmin({ outbox, inbox });
}
