import type { Delivery, Taken } from '../../messages.ts';
import type { RawQueries } from '../client.ts';
import { IS_DUE, IS_OPEN, TAKEN_COLUMNS, type TakenRow, takeFor, toDelivery } from './take-heads.ts';

/** A delivery as its relay knows it: parameters 1 to 3, from `heldBy`. */
export const IS_HELD = `event_id = $1::uuid AND destination = $2::text AND fencing_token = $3::int AND state = 'pending'`;

export function heldBy({ eventId, destination, fencingToken }: Taken): [string, string, number] {
  return [eventId, destination, fencingToken];
}

// The token prevents this: a relay sends, pauses beyond its lease, and comes back after another one has sent the event
// again, failed and put it off. Its "delivered" would be true, but the event is the other one's now, and so is what
// comes behind it.
//
// Taking the next one in the same statement: nobody comes between the two, and it saves a look at every other aggregate.
// The head is chosen first and locked then, so SKIP LOCKED passes over the aggregate and never over the head itself. It
// is chosen laterally, in the index's own order: one jump, however many events wait behind it.
const DELIVERED = `
WITH done AS (
  UPDATE outbox_deliveries
     SET state = 'delivered', settled_at = clock_timestamp(), next_attempt_at = NULL, last_error = NULL
   WHERE ${IS_HELD}
  RETURNING aggregate),
head AS (
  SELECT first.event_id FROM done CROSS JOIN LATERAL (
    SELECT o.event_id FROM outbox_deliveries o
     WHERE $4::float8 IS NOT NULL AND o.destination = $2::text AND o.aggregate = done.aggregate AND o.${IS_OPEN}
       AND o.event_id <> $1::uuid
     ORDER BY o.aggregate, o.sequence LIMIT 1) first),
following AS MATERIALIZED (
  SELECT l.event_id FROM head CROSS JOIN LATERAL (
    SELECT o.event_id FROM outbox_deliveries o
     WHERE o.event_id = head.event_id AND o.destination = $2::text AND o.${IS_DUE}
       AND NOT EXISTS (SELECT FROM outbox_stops WHERE destination = $2::text)
       FOR UPDATE SKIP LOCKED) l),
taken AS (
  UPDATE outbox_deliveries d SET ${takeFor('$4')}
    FROM outbox_events e
   WHERE d.destination = $2::text AND d.event_id IN (SELECT event_id FROM following) AND e.id = d.event_id
  RETURNING ${TAKEN_COLUMNS})
SELECT EXISTS (SELECT FROM done) AS marked, taken.* FROM (SELECT 1) one LEFT JOIN taken ON true`;

/** `OutboxStore.delivered`. */
export async function delivered(
  db: RawQueries,
  taken: Taken,
  leaseMs: number | null,
): Promise<{ marked: boolean; next: Delivery | undefined }> {
  const rows = await db.$queryRawUnsafe<({ marked: boolean } & (TakenRow | { event_id: null }))[]>(
    DELIVERED,
    ...heldBy(taken),
    leaseMs,
  );
  const [row] = rows;
  return { marked: row?.marked ?? false, next: row && row.event_id !== null ? toDelivery(row) : undefined };
}
