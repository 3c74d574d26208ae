import type { InboxStore, OutboxStore } from '../../messages.ts';
import { askedOn } from '../asked.ts';
import { type PrismaClientLike, primaryOf, type RawQueries, type TransactionOf } from '../client.ts';
import { OwnClient } from '../own-client.ts';
import { renamedClient, renamedQueries } from '../renamed.ts';
import { renamerOf, type Tables } from '../tables.ts';
import type { TransactionOptions } from '../transaction.ts';
import { outside } from '../within.ts';
import { delivered } from './delivered.ts';
import { enqueue } from './enqueue.ts';
import { findEvent, findReceivedEvent, openReceived, openSent } from './find-message.ts';
import { listDeliveries, listReceived, stops } from './list-messages.ts';
import { reapReceived, reapRecords, reapSent } from './reap-messages.ts';
import { receive } from './receive.ts';
import { mismatched, receivedFailed, takeFailed } from './received-failed.ts';
import { abandon, requeue, requeueReceived, resume, skip } from './requeue.ts';
import { takeHeads } from './take-heads.ts';
import { giveBack, giveUp, postpone } from './undelivered.ts';

/**
 * The outbox's part of the port, on the user's own Prisma client.
 *
 * @throws ConfigurationError for tables whose names cannot be used
 */
export function prismaOutbox(client: PrismaClientLike, tables?: Tables): OutboxStore<RawQueries> {
  const rename = renamerOf(tables);
  if (!rename) return outboxOn(client);
  const store = outboxOn(renamedClient(client, rename));
  return { ...store, enqueue: (tx, event) => store.enqueue(renamedQueries(tx, rename), event) };
}

function outboxOn(client: PrismaClientLike): OutboxStore<RawQueries> {
  const db = () => primaryOf(client);
  const asked = askedOn(db, 'messaging');
  return {
    // The caller's transaction, and so the caller's error.
    enqueue,
    takeHeads: (destination, leaseMs, limit, after) => asked(() => takeHeads(db(), destination, leaseMs, limit, after)),
    delivered: (taken, leaseMs) => asked(() => delivered(db(), taken, leaseMs)),
    postpone: (taken, pauseMs, error) => asked(() => postpone(db(), taken, pauseMs, error)),
    giveUp: (taken, as, error) => asked(() => giveUp(db(), taken, as, error)),
    giveBack: (taken, stop) => asked(() => giveBack(db(), taken, stop)),
    requeue: (destination, eventId, actor, seen) => asked(() => requeue(db(), destination, eventId, actor, seen)),
    skip: (destination, eventId, actor, seen) => asked(() => skip(db(), destination, eventId, actor, seen)),
    abandon: (destination, actor) => asked(() => abandon(db(), destination, actor)),
    resume: (destination, actor) => asked(() => resume(db(), destination, actor)),
    stops: () => asked(() => stops(db())),
    list: (filter) => asked(() => listDeliveries(db(), filter)),
    find: (eventId) => asked(() => findEvent(db(), eventId)),
    open: () => asked(() => openSent(db())),
    reap: (retentionMs, limit) => asked(() => reapSent(db(), retentionMs, limit)),
    reapRecords: (limit) => asked(() => reapRecords(db(), 'outbox', limit)),
  };
}

/** The inbox's part of the port, as the outbox's. */
export function prismaInbox<Client extends PrismaClientLike>(
  client: Client,
  tables?: Tables,
): InboxStore<TransactionOf<Client>> {
  const rename = renamerOf(tables);
  const own = new OwnClient(client, { rename, claimsIn: 'inbox' });
  return inboxOn(rename ? renamedClient(client, rename) : client, { rename, own });
}

function inboxOn<Tx>(client: PrismaClientLike, setting: Pick<TransactionOptions, 'rename' | 'own'>): InboxStore<Tx> {
  const db = () => primaryOf(client);
  const asked = askedOn(db, 'messaging');
  return {
    // A transaction of its own, also where a handler receives.
    receive: (event, run, how) => outside(() => receive(client, event, run, { ...how, ...setting })),
    failed: (event, failure) => asked(() => receivedFailed(db(), event, failure)),
    mismatched: (event) => asked(() => mismatched(db(), event)),
    takeFailed: (sources, leaseMs, limit) => asked(() => takeFailed(db(), sources, leaseMs, limit)),
    requeue: (source, eventId, actor) => asked(() => requeueReceived(db(), source, eventId, actor)),
    list: (filter) => asked(() => listReceived(db(), filter)),
    find: (source, eventId) => asked(() => findReceivedEvent(db(), source, eventId)),
    open: () => asked(() => openReceived(db())),
    reap: (limit) => asked(() => reapReceived(db(), limit)),
    reapRecords: (limit) => asked(() => reapRecords(db(), 'inbox', limit)),
  };
}
