import type {
  DeliveryFilter,
  DeliveryRow,
  FoundEvent,
  FoundReceived,
  InboxFilter,
  InboxRow,
  MessageRecord,
  Open,
  Stop,
} from '../../messages.ts';
import type { RawQueries } from '../client.ts';
import { IS_OPEN } from './delivery.ts';
import { findReceived, INBOX_COLUMNS, type RawInboxRow, toInboxRow } from './inbox.ts';

const DELIVERY_COLUMNS = `d.event_id, d.destination, d.aggregate, d.sequence, e.type, d.state, d.attempts,
  d.next_attempt_at, d.last_error, e.created_at, d.settled_at`;

/** The event that the open row `d` waits for: one probe of the relay's index, which begins with the first of its aggregate. */
const WAITS_FOR = `
  LEFT JOIN LATERAL (
    SELECT o.event_id AS first_id, o.sequence AS first_sequence, o.state AS first_state FROM outbox_deliveries o
     WHERE d.${IS_OPEN} AND o.destination = d.destination AND o.aggregate = d.aggregate
       AND o.sequence < d.sequence AND o.${IS_OPEN}
     ORDER BY o.sequence LIMIT 1) first ON true`;

// Plain reads, no locks. The index on the events' time has their order. What a row waits for is looked up for the rows of
// the page alone.
const DELIVERIES = `
SELECT * FROM (
  SELECT ${DELIVERY_COLUMNS}
    FROM outbox_deliveries d JOIN outbox_events e ON e.id = d.event_id
   WHERE ($1::text IS NULL OR d.state = $1) AND ($2::text IS NULL OR d.destination = $2)
   ORDER BY e.created_at DESC, d.aggregate, d.sequence DESC, d.destination LIMIT $3::int OFFSET $4::int) d ${WAITS_FOR}
 ORDER BY d.created_at DESC, d.aggregate, d.sequence DESC, d.destination`;

const RECEIVED = `
SELECT ${INBOX_COLUMNS}, NULL AS result FROM inbox_events
 WHERE ($1::text IS NULL OR state = $1) AND ($2::text IS NULL OR source = $2)
 ORDER BY received_at DESC, source, event_id LIMIT $3::int OFFSET $4::int`;

const STOPS = 'SELECT destination, reason, at FROM outbox_stops ORDER BY destination';

interface RawDelivery extends Pick<DeliveryRow, 'destination' | 'aggregate' | 'type' | 'state' | 'attempts'> {
  event_id: string;
  sequence: bigint;
  next_attempt_at: Date | null;
  last_error: string | null;
  created_at: Date;
  settled_at: Date | null;
  first_id: string | null;
  first_sequence: bigint | null;
  first_state: 'pending' | 'dead' | null;
}

/** `OutboxStore.list`. */
export async function listDeliveries(db: RawQueries, filter: DeliveryFilter): Promise<DeliveryRow[]> {
  const { state = null, destination = null, limit, offset } = filter;
  const rows = await db.$queryRawUnsafe<RawDelivery[]>(DELIVERIES, state, destination, limit, offset);
  return rows.map(toDeliveryRow);
}

function toDeliveryRow(raw: RawDelivery): DeliveryRow {
  const { event_id, next_attempt_at, last_error, created_at, settled_at, sequence, ...more } = raw;
  const { first_id, first_sequence, first_state, ...row } = more;
  return {
    ...row,
    eventId: event_id,
    sequence: Number(sequence),
    nextAttemptAt: next_attempt_at,
    lastError: last_error,
    createdAt: created_at,
    settledAt: settled_at,
    waitsFor:
      first_id && first_state ? { eventId: first_id, sequence: Number(first_sequence), state: first_state } : null,
  };
}

/** `InboxStore.list`. */
export async function listReceived(db: RawQueries, filter: InboxFilter): Promise<InboxRow[]> {
  const { state = null, source = null, limit, offset } = filter;
  const rows = await db.$queryRawUnsafe<RawInboxRow[]>(RECEIVED, state, source, limit, offset);
  return rows.map(toInboxRow);
}

/** `OutboxStore.stops`. */
export async function listStops(db: RawQueries): Promise<Stop[]> {
  return await db.$queryRawUnsafe<Stop[]>(STOPS);
}

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
