import type { FoundEvent, FoundReceived, MessageRecord, Open } from '../../messages.ts';
import type { RawQueries } from '../client.ts';
import { DELIVERY_COLUMNS, type RawDelivery, toDeliveryRow } from './list-messages.ts';
import { findReceived } from './receive.ts';

// Plain reads, no locks: for people, and for gauges.
const EVENT = `
SELECT id, aggregate, sequence, type, payload, headers, derived_key, created_at
  FROM outbox_events WHERE id = $1::uuid`;

const DELIVERIES_OF = `
SELECT ${DELIVERY_COLUMNS} FROM outbox_deliveries d JOIN outbox_events e ON e.id = d.event_id
 WHERE d.event_id = $1::uuid ORDER BY d.destination`;

const RECORDS = `
SELECT type, peer, actor, at FROM message_events
 WHERE box = $1::text AND event_id = $2::text AND ($3::text IS NULL OR peer = $3)
 ORDER BY at, id`;

// Each is answered by its partial index, which holds what is open and not the history.
const OPEN_SENT = `
SELECT destination AS peer, d.state, count(*)::int AS count, min(e.created_at) AS oldest_at
  FROM outbox_deliveries d JOIN outbox_events e ON e.id = d.event_id
 WHERE d.state IN ('pending', 'dead')
 GROUP BY 1, 2 ORDER BY 1, 2`;

const OPEN_RECEIVED = `
SELECT source AS peer, state, count(*)::int AS count, min(received_at) AS oldest_at
  FROM inbox_events
 WHERE state IN ('failed', 'dead')
 GROUP BY 1, 2 ORDER BY 1, 2`;

interface RawEvent {
  id: string;
  aggregate: string;
  sequence: bigint;
  type: string;
  payload: string;
  headers: Record<string, string>;
  derived_key: string;
  created_at: Date;
}

/** `OutboxStore.find`. */
export async function findEvent(db: RawQueries, eventId: string): Promise<FoundEvent | undefined> {
  const [[raw], deliveries, records] = await Promise.all([
    db.$queryRawUnsafe<RawEvent[]>(EVENT, eventId),
    db.$queryRawUnsafe<RawDelivery[]>(DELIVERIES_OF, eventId),
    recordsOf(db, 'outbox', eventId, null),
  ]);
  if (!raw) return undefined;
  const { id, sequence, derived_key, created_at, ...event } = raw;
  return {
    ...event,
    eventId: id,
    sequence: Number(sequence),
    derivedKey: derived_key,
    createdAt: created_at,
    deliveries: deliveries.map(toDeliveryRow),
    records,
  };
}

/** `InboxStore.find`. */
export async function findReceivedEvent(
  db: RawQueries,
  source: string,
  eventId: string,
): Promise<FoundReceived | undefined> {
  const [row, records] = await Promise.all([
    findReceived(db, { source, eventId }),
    recordsOf(db, 'inbox', eventId, source),
  ]);
  return row && { ...row, records };
}

/** `OutboxStore.open`. */
export async function openSent(db: RawQueries): Promise<Open[]> {
  return (await db.$queryRawUnsafe<RawOpen[]>(OPEN_SENT)).map(toOpen);
}

/** `InboxStore.open`. */
export async function openReceived(db: RawQueries): Promise<Open[]> {
  return (await db.$queryRawUnsafe<RawOpen[]>(OPEN_RECEIVED)).map(toOpen);
}

type RawOpen = Omit<Open, 'oldestAt'> & { oldest_at: Date };

function toOpen({ oldest_at, ...row }: RawOpen): Open {
  return { ...row, oldestAt: oldest_at };
}

async function recordsOf(db: RawQueries, box: string, eventId: string, peer: string | null): Promise<MessageRecord[]> {
  return await db.$queryRawUnsafe<MessageRecord[]>(RECORDS, box, eventId, peer);
}
