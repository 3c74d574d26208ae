import type { InboxStore, OutboxStore } from '../../messages.ts';
import type { RawQueries } from '../client.ts';
import type { Asked } from '../db.ts';

/** Recognizes what people did (`operate.ts`), which outlives the message. */
const BY_PEOPLE = `type IN ('requeued', 'skipped', 'abandoned', 'resumed')`;

// The time of the statement and not `clock_timestamp()`, which is volatile: no index would bound the look by it.
//
// An event is kept for as long behind the day on which its last delivery was settled as behind its own: what a person
// skips today, or a destination takes after two weeks of silence, is still to be seen tomorrow.
//
// Two statements, in this order. A person may send a skipped delivery again while the reaper is at work: DELETE looks at
// the newest version of each row, so a delivery that has become pending stays, and with it its event, which goes only
// when it has no delivery left. In one statement the event's fate would be decided by a look that is already old.
const REAP_DELIVERIES = `
WITH old AS MATERIALIZED (
  SELECT id FROM outbox_events e
   WHERE created_at <= statement_timestamp() - $1::float8 * interval '1 ms'
     AND NOT EXISTS (
       SELECT FROM outbox_deliveries
        WHERE event_id = e.id
          AND (state IN ('pending', 'dead') OR settled_at > statement_timestamp() - $1::float8 * interval '1 ms'))
   ORDER BY created_at LIMIT $2::int),
reaped AS (
  DELETE FROM outbox_deliveries WHERE event_id IN (SELECT id FROM old) AND state IN ('delivered', 'skipped'))
SELECT id::text FROM old`;

// Numbers stay: see `OutboxAggregate`.
const REAP_EVENTS = `
WITH old AS MATERIALIZED (
  SELECT id FROM outbox_events e
   WHERE id = ANY($1::uuid[]) AND NOT EXISTS (SELECT FROM outbox_deliveries WHERE event_id = e.id)
     FOR UPDATE SKIP LOCKED),
records AS (
  DELETE FROM message_events
   WHERE box = 'outbox' AND event_id IN (SELECT id::text FROM old) AND NOT ${BY_PEOPLE}),
reaped AS (
  DELETE FROM outbox_events WHERE id IN (SELECT id FROM old) RETURNING 1)
SELECT count(*)::int AS count FROM reaped`;

// Never what failed or is dead: its effect may still come, and only its row says so. Said again in the DELETE, as in
// `reap.ts`.
const IS_EXPIRED = `expires_at <= statement_timestamp() AND state = 'processed'`;

const REAP_RECEIVED = `
WITH expired AS MATERIALIZED (
  SELECT source, event_id FROM inbox_events
   WHERE ${IS_EXPIRED}
   ORDER BY expires_at LIMIT $1::int
     FOR UPDATE SKIP LOCKED),
reaped AS (
  DELETE FROM inbox_events
   WHERE (source, event_id) IN (SELECT source, event_id FROM expired) AND ${IS_EXPIRED}
  RETURNING source, event_id),
records AS (
  DELETE FROM message_events
   WHERE box = 'inbox' AND (peer, event_id) IN (SELECT source, event_id FROM reaped) AND NOT ${BY_PEOPLE})
SELECT count(*)::int AS count FROM reaped`;

// People ask who did what to a message long after it is gone. Without a lock: see `REAP_AUDIT`. A year in hours, which are as
// long in every time zone.
const REAP_RECORDS = `
WITH old AS MATERIALIZED (
  SELECT id FROM message_events
   WHERE box = $1::text AND ${BY_PEOPLE} AND at <= statement_timestamp() - interval '8760 h'
   ORDER BY at LIMIT $2::int),
reaped AS (
  DELETE FROM message_events WHERE id IN (SELECT id FROM old) RETURNING 1)
SELECT count(*)::int AS count FROM reaped`;

const reapRecordsOf = (box: 'outbox' | 'inbox') => async (db: RawQueries, limit: number) =>
  countOf(await db.$queryRawUnsafe(REAP_RECORDS, box, limit));

const reapSent: Asked<OutboxStore<never>, 'reap'> = async (db, retentionMs, limit) => {
  const old = await db.$queryRawUnsafe<{ id: string }[]>(REAP_DELIVERIES, retentionMs, limit);
  if (old.length === 0) return 0;
  const ids = old.map(({ id }) => id);
  return countOf(await db.$queryRawUnsafe(REAP_EVENTS, ids));
};

const reapReceived: Asked<InboxStore<never>, 'reap'> = async (db, limit) =>
  countOf(await db.$queryRawUnsafe(REAP_RECEIVED, limit));

function countOf(rows: { count: number }[]): number {
  return rows[0]?.count ?? 0;
}

export const sentReapQuestions = { reap: reapSent, reapRecords: reapRecordsOf('outbox') };
export const receivedReapQuestions = { reap: reapReceived, reapRecords: reapRecordsOf('inbox') };
