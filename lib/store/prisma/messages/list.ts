import type { DeliveryRow, FoundDelivery, FoundEvent, InboxStore, MessageRecord, OutboxStore } from '../../messages.ts';
import type { RawQueries } from '../client.ts';
import type { Asked } from '../db.ts';
import { epochMs, withDates } from '../keys/read.ts';
import { IS_OPEN } from './delivery.ts';
import { findReceived, INBOX_COLUMNS, readReceived } from './inbox.ts';

type Outbox = OutboxStore<never>;
type Inbox = InboxStore<never>;

/** The columns of a `DeliveryRow`: of a delivery `d` with its event's, and of the `first` that it waits for. */
const DELIVERY_COLUMNS = `d.event_id AS "eventId", d.destination, d.aggregate, d.sequence::float8 AS sequence, d.type, d.state,
  d.attempts, ${epochMs('d.next_attempt_at')} AS "nextAttemptAt", d.last_error AS "lastError",
  ${epochMs('d.created_at')} AS "createdAt", ${epochMs('d.settled_at')} AS "settledAt",
  CASE WHEN first.state IS NOT NULL THEN to_json(first) END AS "waitsFor"`;

const WITH_EVENT = `
  SELECT d.*, e.type, e.created_at FROM outbox_deliveries d JOIN outbox_events e ON e.id = d.event_id`;

/** The event that the open row `d` waits for: one probe of the relay's index, which begins with the first of its aggregate. */
const WAITS_FOR = `
  LEFT JOIN LATERAL (
    SELECT o.event_id AS "eventId", o.sequence, o.state FROM outbox_deliveries o
     WHERE d.${IS_OPEN} AND o.destination = d.destination AND o.aggregate = d.aggregate
       AND o.sequence < d.sequence AND o.${IS_OPEN}
     ORDER BY o.sequence LIMIT 1) first ON true`;

// Plain reads, no locks, as all of these. The index on the events' time has their order. What a row waits for is looked up for
// the rows of the page alone.
const DELIVERIES = `
SELECT ${DELIVERY_COLUMNS} FROM (${WITH_EVENT}
   WHERE ($1::text IS NULL OR d.state = $1) AND ($2::text IS NULL OR d.destination = $2)
   ORDER BY e.created_at DESC, d.aggregate, d.sequence DESC, d.destination LIMIT $3::int OFFSET $4::int) d ${WAITS_FOR}
 ORDER BY d.created_at DESC, d.aggregate, d.sequence DESC, d.destination`;

const RECEIVED = `
SELECT ${INBOX_COLUMNS}, NULL AS result FROM inbox_events
 WHERE ($1::text IS NULL OR state = $1) AND ($2::text IS NULL OR source = $2)
 ORDER BY received_at DESC, source, event_id LIMIT $3::int OFFSET $4::int`;

const STOPS = `SELECT destination, reason, ${epochMs('at')} AS at FROM outbox_stops ORDER BY destination`;

const readDeliveries = <Row extends DeliveryRow>(rows: PromiseLike<unknown>) =>
  withDates<Row>(rows, 'nextAttemptAt', 'createdAt', 'settledAt');

export const listDeliveries: Asked<Outbox, 'list'> = async (db, { state, destination, limit, offset }) =>
  await readDeliveries(db.$queryRawUnsafe(DELIVERIES, state ?? null, destination ?? null, limit, offset));

export const listReceived: Asked<Inbox, 'list'> = async (db, { state, source, limit, offset }) =>
  await readReceived(db.$queryRawUnsafe(RECEIVED, state ?? null, source ?? null, limit, offset));

const listStops: Asked<Outbox, 'stops'> = async (db) => await withDates(db.$queryRawUnsafe(STOPS), 'at');

const EVENT = `
SELECT id AS "eventId", aggregate, sequence::float8 AS sequence, type, payload, headers, derived_key AS "derivedKey",
       ${epochMs('created_at')} AS "createdAt"
  FROM outbox_events WHERE id = $1::uuid`;

// Behind one dead letter a million events may wait: nobody needs to know more than that they are many.
const DELIVERIES_OF = `
SELECT ${DELIVERY_COLUMNS}, behind.count AS behind FROM (${WITH_EVENT} WHERE d.event_id = $1::uuid) d ${WAITS_FOR}
 CROSS JOIN LATERAL (SELECT count(*)::int AS count FROM (
    SELECT FROM outbox_deliveries o
     WHERE d.${IS_OPEN} AND o.destination = d.destination AND o.aggregate = d.aggregate
       AND o.sequence > d.sequence AND o.${IS_OPEN}
     LIMIT 1001) few) behind
 ORDER BY d.destination`;

const PAYLOAD = 'SELECT payload FROM inbox_events WHERE source = $1::text AND event_id = $2::text';

const RECORDS = `
SELECT type, peer, actor, ${epochMs('at')} AS at FROM message_events
 WHERE box = $1::text AND event_id = $2::text AND ($3::text IS NULL OR peer = $3)
 ORDER BY message_events.at, id`;

// Each is answered by its partial index, which holds what is open and not the history.
const open = (peer: string, from: string, at: string, is: string) => `
SELECT ${peer} AS peer, state, count(*)::int AS count, ${epochMs(`min(${at})`)} AS "oldestAt"
  FROM ${from} WHERE ${is} GROUP BY 1, 2 ORDER BY 1, 2`;
const SENT = 'outbox_deliveries JOIN outbox_events e ON e.id = event_id';
const OPEN_SENT = open('destination', SENT, 'e.created_at', IS_OPEN);
const OPEN_RECEIVED = open('source', 'inbox_events', 'received_at', `state IN ('failed', 'dead')`);

const findEvent: Asked<Outbox, 'find'> = async (db, eventId) => {
  const found = db.$queryRawUnsafe(EVENT, eventId);
  const [event] = await withDates<Omit<FoundEvent, 'deliveries' | 'records'>>(found, 'createdAt');
  if (!event) return undefined;
  const deliveries = await readDeliveries<FoundDelivery>(db.$queryRawUnsafe(DELIVERIES_OF, eventId));
  return { ...event, deliveries, records: await recordsOf(db, 'outbox', eventId, null) };
};

const findReceivedEvent: Asked<Inbox, 'find'> = async (db, source, eventId) => {
  const row = await findReceived(db, { source, eventId });
  if (!row) return undefined;
  const [kept] = await db.$queryRawUnsafe<{ payload: string | null }[]>(PAYLOAD, source, eventId);
  return { ...row, payload: kept?.payload ?? null, records: await recordsOf(db, 'inbox', eventId, source) };
};

const openSent: Asked<Outbox, 'open'> = async (db) => await withDates(db.$queryRawUnsafe(OPEN_SENT), 'oldestAt');

const openReceived: Asked<Inbox, 'open'> = async (db) => await withDates(db.$queryRawUnsafe(OPEN_RECEIVED), 'oldestAt');

async function recordsOf(db: RawQueries, box: string, eventId: string, peer: string | null): Promise<MessageRecord[]> {
  return await withDates(db.$queryRawUnsafe(RECORDS, box, eventId, peer), 'at');
}

export const sentQuestions = { stops: listStops, find: findEvent, open: openSent };
export const receivedQuestions = { find: findReceivedEvent, open: openReceived };
