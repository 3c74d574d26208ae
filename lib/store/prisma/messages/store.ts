import type { InboxStore, OutboxStore } from '../../messages.ts';
import { outside } from '../async-context.ts';
import type { PrismaClientLike, RawQueries, TransactionOf } from '../client.ts';
import { OwnClient } from '../client-pool.ts';
import { Gate } from '../db.ts';
import { renamedClient, renamedQueries } from '../renaming.ts';
import { renamerOf, type Tables } from '../tables.ts';
import { BATCH_MS } from '../timeouts.ts';
import type { TransactionOptions } from '../transaction.ts';
import { delivered, giveBack, giveUp, postpone, takeHeads } from './delivery.ts';
import { mismatched, receive, receivedFailed, takeFailed } from './inbox.ts';
import { findEvent, findReceivedEvent, listDeliveries, listReceived, openReceived, openSent, stops } from './list.ts';
import { abandon, requeue, requeueReceived, resume, skip } from './operate.ts';
import { enqueue } from './outbox.ts';
import { reapReceived, reapRecords, reapSent } from './reap.ts';

/**
 * The outbox's part of the port, on the user's own Prisma client.
 *
 * @throws ConfigurationError for tables whose names cannot be used
 */
export function prismaOutbox(client: PrismaClientLike, tables?: Tables): OutboxStore<RawQueries> {
  const rename = renamerOf(tables);
  const own = new OwnClient(client, { rename });
  if (!rename) return outboxOn(new Gate(client, { own, part: 'messaging' }));
  const store = outboxOn(new Gate(renamedClient(client, rename), { own, rename, part: 'messaging' }));
  return { ...store, enqueue: (tx, event) => store.enqueue(renamedQueries(tx, rename), event) };
}

/** The same behind a gate. */
export function outboxOn(gate: Gate): OutboxStore<RawQueries> {
  return {
    // The caller's transaction, and so the caller's error.
    enqueue,
    takeHeads: (destination, leaseMs, limit, after) =>
      gate.ask((db) => takeHeads(db, destination, leaseMs, limit, after)),
    delivered: (taken, leaseMs) => gate.ask((db) => delivered(db, taken, leaseMs)),
    postpone: (taken, pauseMs, error) => gate.ask((db) => postpone(db, taken, pauseMs, error)),
    giveUp: (taken, as, error) => gate.ask((db) => giveUp(db, taken, as, error)),
    giveBack: (taken, stop) => gate.ask((db) => giveBack(db, taken, stop)),
    requeue: (destination, eventId, actor, seen) => gate.ask((db) => requeue(db, destination, eventId, actor, seen)),
    skip: (destination, eventId, actor, seen) => gate.ask((db) => skip(db, destination, eventId, actor, seen)),
    abandon: (destination, actor) => gate.ask((db) => abandon(db, destination, actor), { withinMs: BATCH_MS }),
    resume: (destination, actor) => gate.ask((db) => resume(db, destination, actor)),
    stops: () => gate.ask(stops),
    list: (filter) => gate.ask((db) => listDeliveries(db, filter), { withinMs: BATCH_MS }),
    find: (eventId) => gate.ask((db) => findEvent(db, eventId)),
    open: () => gate.ask(openSent),
    reap: (retentionMs, limit) => gate.ask((db) => reapSent(db, retentionMs, limit), { withinMs: BATCH_MS }),
    reapRecords: (limit) => gate.ask((db) => reapRecords(db, 'outbox', limit), { withinMs: BATCH_MS }),
  };
}

/** The inbox's part of the port, as the outbox's. */
export function prismaInbox<Client extends PrismaClientLike>(
  client: Client,
  tables?: Tables,
): InboxStore<TransactionOf<Client>> {
  const rename = renamerOf(tables);
  const own = new OwnClient(client, { rename, claimsIn: 'inbox' });
  const renamed = rename ? renamedClient(client, rename) : client;
  return inboxOn(renamed, { rename, own }, new Gate(renamed, { rename, own, part: 'messaging' }));
}

/** The same behind a gate. */
export function inboxOn<Tx>(
  client: PrismaClientLike,
  setting: Pick<TransactionOptions, 'rename' | 'own'>,
  gate: Gate,
): InboxStore<Tx> {
  return {
    // A transaction of its own, also where a handler receives.
    receive: (event, run, how) => outside(() => receive(client, event, run, { ...how, ...setting, gate })),
    failed: (event, failure) => gate.ask((db) => receivedFailed(db, event, failure)),
    mismatched: (event) => gate.ask((db) => mismatched(db, event)),
    takeFailed: (sources, leaseMs, limit) => gate.ask((db) => takeFailed(db, sources, leaseMs, limit)),
    requeue: (source, eventId, actor) => gate.ask((db) => requeueReceived(db, source, eventId, actor)),
    list: (filter) => gate.ask((db) => listReceived(db, filter), { withinMs: BATCH_MS }),
    find: (source, eventId) => gate.ask((db) => findReceivedEvent(db, source, eventId)),
    open: () => gate.ask(openReceived),
    reap: (limit) => gate.ask((db) => reapReceived(db, limit), { withinMs: BATCH_MS }),
    reapRecords: (limit) => gate.ask((db) => reapRecords(db, 'inbox', limit), { withinMs: BATCH_MS }),
  };
}
