import type { FailedAttempt, FailedEvent, KnownRow, Receipt } from '../../messages.ts';
import type { RawQueries } from '../client.ts';
import { findReceived } from './receive.ts';
import { short } from './undelivered.ts';

// A statement of its own, behind the rollback: in the transaction, the count of its failures would go with it.
//
// It waits, like the claim, for whoever is processing the event at the same moment, and then looks at what that came to:
// a processed event is not counted down to a dead letter by a delivery that failed beside it. The pauses come as a list,
// because how many attempts there were is only known under the row's lock.
//
// The payload that was written down first stays: it is what is run again, and what later ones are compared with.
//
// What fails again before it is due is not counted: ten deliveries of one moment, or a stream that delivers again at
// once, would make a dead letter of what a minute would have mended.
const FAILED = `
INSERT INTO inbox_events AS i
  (source, event_id, state, payload_hash, payload, attempts, last_error, next_attempt_at)
VALUES ($1::varchar, $2::varchar, CASE WHEN cardinality($5::float8[]) < 1 THEN 'dead' ELSE 'failed' END, $3::bytea,
        $4::text, 1, $6::varchar, clock_timestamp() + ($5::float8[])[1] * interval '1 ms')
ON CONFLICT (source, event_id) DO UPDATE
   SET attempts = i.attempts + 1, payload = coalesce(i.payload, EXCLUDED.payload), last_error = EXCLUDED.last_error,
       state = CASE WHEN cardinality($5::float8[]) < i.attempts + 1 THEN 'dead' ELSE 'failed' END,
       next_attempt_at = clock_timestamp() + ($5::float8[])[i.attempts + 1] * interval '1 ms'
 WHERE i.state = 'failed'
   AND ($7::boolean OR (i.payload_hash = EXCLUDED.payload_hash AND i.next_attempt_at <= clock_timestamp()))
RETURNING 1`;

// Counted on the row and written down once per event: a sender that repeats itself must not fill the table.
const MISMATCHED = `
WITH counted AS (
  UPDATE inbox_events SET mismatches = mismatches + 1
   WHERE source = $1::text AND event_id = $2::text
  RETURNING source, event_id, mismatches)
INSERT INTO message_events (box, event_id, peer, type, actor)
SELECT 'inbox', event_id, source, 'payload_mismatch', 'inbox' FROM counted WHERE mismatches = 1
RETURNING 1`;

// Puts the next look off while one is under way. No token: whoever runs it claims it in its transaction, and only one can.
const TAKE_FAILED = `
WITH due AS MATERIALIZED (
  SELECT source, event_id FROM inbox_events
   WHERE next_attempt_at <= clock_timestamp() AND state = 'failed' AND payload IS NOT NULL
     AND source = ANY($1::text[])
   ORDER BY next_attempt_at LIMIT $3::int
     FOR UPDATE SKIP LOCKED)
UPDATE inbox_events SET next_attempt_at = clock_timestamp() + $2::float8 * interval '1 ms'
 WHERE (source, event_id) IN (SELECT source, event_id FROM due)
RETURNING source, event_id, payload`;

/** `InboxStore.failed`. */
export async function receivedFailed(
  db: RawQueries,
  event: Receipt,
  { payload, pausesMs, error, wasDue }: FailedAttempt,
): Promise<KnownRow> {
  const { source, eventId, payloadHash } = event;
  await db.$queryRawUnsafe(FAILED, source, eventId, payloadHash, payload, pausesMs, short(error), wasDue);
  const row = await findReceived(db, event);
  if (!row) throw new Error('The event was deleted while its failure was written down.');
  return row;
}

/** `InboxStore.mismatched`. */
export async function mismatched(db: RawQueries, { source, eventId }: Receipt): Promise<void> {
  await db.$queryRawUnsafe(MISMATCHED, source, eventId);
}

/** `InboxStore.takeFailed`. */
export async function takeFailed(
  db: RawQueries,
  sources: readonly string[],
  leaseMs: number,
  limit: number,
): Promise<FailedEvent[]> {
  const rows = await db.$queryRawUnsafe<{ source: string; event_id: string; payload: string }[]>(
    TAKE_FAILED,
    sources,
    leaseMs,
    limit,
  );
  return rows.map(({ source, event_id, payload }) => ({ source, eventId: event_id, payload }));
}
