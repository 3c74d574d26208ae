import type { RawQueries } from '../client.ts';

// Two statements, in this order. A person may send a skipped delivery again while the reaper is at work: DELETE looks at
// the newest version of each row, so a delivery that has become pending stays, and with it its event, which goes only
// when it has no delivery left. In one statement the event's fate would be decided by a look that is already old.
const REAP_DELIVERIES = `
WITH old AS MATERIALIZED (
  SELECT id FROM outbox_events e
   WHERE created_at <= clock_timestamp() - $1::float8 * interval '1 ms'
     AND NOT EXISTS (SELECT FROM outbox_deliveries WHERE event_id = e.id AND state IN ('pending', 'dead'))
   ORDER BY created_at LIMIT $2::int)
DELETE FROM outbox_deliveries WHERE event_id IN (SELECT id FROM old) AND state IN ('delivered', 'skipped')
RETURNING 1`;

// SKIP LOCKED: several reapers share the work. Numbers stay: see `OutboxAggregate`.
const REAP_EVENTS = `
WITH old AS MATERIALIZED (
  SELECT id FROM outbox_events e
   WHERE created_at <= clock_timestamp() - $1::float8 * interval '1 ms'
     AND NOT EXISTS (SELECT FROM outbox_deliveries WHERE event_id = e.id)
   ORDER BY created_at LIMIT $2::int
     FOR UPDATE SKIP LOCKED),
records AS (
  DELETE FROM message_events WHERE box = 'outbox' AND event_id IN (SELECT id::text FROM old)),
reaped AS (
  DELETE FROM outbox_events WHERE id IN (SELECT id FROM old) RETURNING 1)
SELECT count(*)::int AS count FROM reaped`;

// Never what failed or is dead: its effect may still come, and only its row says so.
const REAP_RECEIVED = `
WITH expired AS MATERIALIZED (
  SELECT source, event_id FROM inbox_events
   WHERE expires_at <= clock_timestamp() AND state = 'processed'
   ORDER BY expires_at LIMIT $1::int
     FOR UPDATE SKIP LOCKED),
records AS (
  DELETE FROM message_events
   WHERE box = 'inbox' AND (peer, event_id) IN (SELECT source, event_id FROM expired)),
reaped AS (
  DELETE FROM inbox_events WHERE (source, event_id) IN (SELECT source, event_id FROM expired) RETURNING 1)
SELECT count(*)::int AS count FROM reaped`;

/** `OutboxStore.reap`. */
export async function reapSent(db: RawQueries, retentionMs: number, limit: number): Promise<number> {
  await db.$queryRawUnsafe(REAP_DELIVERIES, retentionMs, limit);
  return countOf(await db.$queryRawUnsafe(REAP_EVENTS, retentionMs, limit));
}

/** `InboxStore.reap`. */
export async function reapReceived(db: RawQueries, limit: number): Promise<number> {
  return countOf(await db.$queryRawUnsafe(REAP_RECEIVED, limit));
}

function countOf(rows: { count: number }[]): number {
  return rows[0]?.count ?? 0;
}
