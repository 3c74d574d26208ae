import type { Delivery } from '../../messages.ts';
import type { RawQueries } from '../client.ts';

/** Rows that stand in the way of later ones: what the partial index holds, and its words must stay these. */
export const IS_OPEN = `state IN ('pending', 'dead')`;

/** Whether a relay may take the row that is its aggregate's first. A dead letter there blocks it. */
export const IS_DUE = `state = 'pending' AND next_attempt_at <= clock_timestamp()`;

/** Takes the row `d`: a higher token, so that the next write of a relay that was overtaken changes nothing. */
export const takeFor = (leaseMs: string) => `
   attempts = d.attempts + 1, fencing_token = d.fencing_token + 1,
   next_attempt_at = clock_timestamp() + ${leaseMs}::float8 * interval '1 ms'`;

export const TAKEN_COLUMNS = `d.event_id, d.destination, d.aggregate, d.sequence, d.attempts, d.fencing_token,
  e.type, e.payload, e.headers, e.derived_key, e.created_at`;

// One jump of the index per aggregate: its first open row, then the first of the next aggregate. So a million events
// behind one another cost no more than one, and an aggregate whose first row is not due offers none of its later ones.
const head = (after: string) => `
  SELECT o.event_id, o.aggregate, o.state, o.next_attempt_at FROM outbox_deliveries o
   WHERE o.destination = $1::text AND o.aggregate > ${after} AND o.${IS_OPEN}
   ORDER BY o.aggregate, o.sequence LIMIT 1`;

// FOR UPDATE SKIP LOCKED: of many relays one takes a row, and none waits. It stands inside the lateral query, so that
// only heads are locked, one after the other, until there are enough; a locked head is passed over with its whole
// aggregate, never for the row behind it. The lock re-checks state and time on the newest version of the row, so what
// another relay has taken or marked a moment ago is left alone.
//
// That the row is still the first: whatever is committed later has a higher number (`enqueue.ts`).
const TAKE_HEADS = `
WITH RECURSIVE heads AS (
  (${head('$4::text')})
  UNION ALL
  SELECT n.* FROM heads h CROSS JOIN LATERAL (${head('h.aggregate')}) n),
due AS MATERIALIZED (
  SELECT l.event_id FROM heads h CROSS JOIN LATERAL (
    SELECT o.event_id FROM outbox_deliveries o
     WHERE o.event_id = h.event_id AND o.destination = $1::text AND o.${IS_DUE}
       FOR UPDATE SKIP LOCKED) l
   WHERE h.${IS_DUE} AND NOT EXISTS (SELECT FROM outbox_stops WHERE destination = $1::text)
   LIMIT $3::int)
UPDATE outbox_deliveries d SET ${takeFor('$2')}
  FROM outbox_events e
 WHERE d.destination = $1::text AND d.event_id IN (SELECT event_id FROM due) AND e.id = d.event_id
RETURNING ${TAKEN_COLUMNS}`;

export interface TakenRow {
  event_id: string;
  destination: string;
  aggregate: string;
  sequence: bigint;
  attempts: number;
  fencing_token: number;
  type: string;
  payload: string;
  headers: Record<string, string>;
  derived_key: string;
  created_at: Date;
}

/** `OutboxStore.takeHeads`. */
export async function takeHeads(
  db: RawQueries,
  destination: string,
  leaseMs: number,
  limit: number,
  after: string,
): Promise<Delivery[]> {
  const rows = await db.$queryRawUnsafe<TakenRow[]>(TAKE_HEADS, destination, leaseMs, limit, after);
  return rows.map(toDelivery);
}

export function toDelivery(row: TakenRow): Delivery {
  return {
    eventId: row.event_id,
    destination: row.destination,
    fencingToken: row.fencing_token,
    aggregate: row.aggregate,
    sequence: Number(row.sequence),
    attempts: row.attempts,
    type: row.type,
    payload: row.payload,
    headers: row.headers,
    derivedKey: row.derived_key,
    createdAt: row.created_at,
  };
}
