import type { FoundEvent, FoundReceived, MessageRecord, Open } from '../../messages.ts';
import type { RawQueries } from '../client.ts';
import { DELIVERY_COLUMNS, type RawDelivery, toDeliveryRow, WAITS_FOR } from './list-messages.ts';
import { findReceived } from './receive.ts';
import { IS_OPEN } from './take-heads.ts';

// Plain reads, no locks: for people, and for gauges.
const EVENT = `
SELECT id, aggregate, sequence, type, payload, headers, derived_key, created_at
  FROM outbox_events WHERE id = $1::uuid`;

// Behind one dead letter a million events may wait: nobody needs to know more than that they are many.
const DELIVERIES_OF = `
SELECT ${DELIVERY_COLUMNS}, first.*, behind.count AS behind
  FROM outbox_deliveries d JOIN outbox_events e ON e.id = d.event_id ${WAITS_FOR}
 CROSS JOIN LATERAL (SELECT count(*)::int AS count FROM (
    SELECT FROM outbox_deliveries o
     WHERE d.${IS_OPEN} AND o.destination = d.destination AND o.aggregate = d.aggregate
       AND o.sequence > d.sequence AND o.${IS_OPEN}
     LIMIT 1001) few) behind
 WHERE d.event_id = $1::uuid ORDER BY d.destination`;

const PAYLOAD = 'SELECT payload FROM inbox_events WHERE source = $1::text AND event_id = $2::text';

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
  const [raw] = await db.$queryRawUnsafe<RawEvent[]>(EVENT, eventId);
  if (!raw) return undefined;
  const deliveries = await db.$queryRawUnsafe<(RawDelivery & { behind: number })[]>(DELIVERIES_OF, eventId);
  const { id, sequence, derived_key, created_at, ...event } = raw;
  return {
    ...event,
    eventId: id,
    sequence: Number(sequence),
    derivedKey: derived_key,
    createdAt: created_at,
    deliveries: deliveries.map(({ behind, ...delivery }) => ({ ...toDeliveryRow(delivery), behind })),
    records: await recordsOf(db, 'outbox', eventId, null),
  };
}

/** `InboxStore.find`. */
export async function findReceivedEvent(
  db: RawQueries,
  source: string,
  eventId: string,
): Promise<FoundReceived | undefined> {
  const row = await findReceived(db, { source, eventId });
  if (!row) return undefined;
  const [kept] = await db.$queryRawUnsafe<{ payload: string | null }[]>(PAYLOAD, source, eventId);
  return { ...row, payload: kept?.payload ?? null, records: await recordsOf(db, 'inbox', eventId, source) };
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
