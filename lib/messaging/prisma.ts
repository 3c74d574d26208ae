import type { Enqueued } from '../store/messages.ts';
import type { PrismaClientLike, RawQueries, TransactionOf } from '../store/prisma/client.ts';
import { Db } from '../store/prisma/db.ts';
import { inboxOn, outboxOn } from '../store/prisma/messages/store.ts';
import type { Tables } from '../store/prisma/tables.ts';
import type { EventToSend, Origin } from './event.ts';
import { type Inbox, makeInbox } from './inbox.ts';
import { makeOutbox, type OutboxOperations, type OutboxSettings } from './outbox.ts';
import type { InboxSettings } from './reception.ts';

/** The destinations of events, and the settings of the relay. */
export interface OutboxOptions extends OutboxSettings {
  prisma: PrismaClientLike;
  /** For tables with names or a schema of their own: the same as `createIdempotency` is given. */
  tables?: Tables;
}

/** A transaction of any Prisma client: a handler's, a phase's, or `$transaction`'s. */
export type OutboxTransaction = RawQueries;

/** Events that go out: announced in your transactions, shipped at least once, in order for each aggregate. */
export interface Outbox extends OutboxOperations {
  /**
   * Announces something exactly if the transaction commits: the event is a row of it. From here to COMMIT, other
   * transactions that announce something of the same aggregate wait, so call it late.
   *
   * @param from the intent it comes from; a handler's context fits. Gives the event its derived key
   * An operation that is `naturallyIdempotent` and runs again gets the event that it has announced before, as it was.
   *
   * @throws EventError for what cannot be sent, and for an event that this intent has announced before
   */
  enqueue(tx: OutboxTransaction, event: EventToSend, from?: Origin): Promise<Enqueued>;
}

/** Sets the outbox up: once per app, in a module that both the app and its worker import. */
export function createOutbox(options: OutboxOptions): Outbox {
  const { prisma, tables, ...settings } = options;
  return makeOutbox(outboxOn(new Db(prisma, { tables, part: 'messaging' })), settings);
}

/** The sources of events, and how long events are remembered and tried. */
export interface InboxOptions<Client extends PrismaClientLike> extends InboxSettings<TransactionOf<Client>> {
  prisma: Client;
  /** For tables with names or a schema of their own: the same as `createIdempotency` is given. */
  tables?: Tables;
}

/** Sets the inbox up: once per app. */
export function createInbox<Client extends PrismaClientLike>(
  options: InboxOptions<Client>,
): Inbox<TransactionOf<Client>> {
  const { prisma, tables, ...settings } = options;
  return makeInbox(inboxOn(new Db(prisma, { tables, part: 'messaging' })), settings);
}
