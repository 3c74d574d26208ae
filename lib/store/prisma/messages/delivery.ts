import type { Delivery, OutboxStore, Taken } from '../../messages.ts';
import { countRows } from '../client.ts';
import type { Asked } from '../db.ts';
import { epochMs, NOW, withDates } from '../keys/read.ts';

type Outbox = OutboxStore<never>;

/** How many aggregates one look passes at most, where few can be taken. */
const MAX_JUMPS = 200;

/** Rows that stand in the way of later ones: what the partial index holds, and its words must stay these. */
export const IS_OPEN = `state IN ('pending', 'dead')`;

/** True if a relay may take the row that is its aggregate's first. A dead letter there blocks it. */
const IS_DUE = `state = 'pending' AND next_attempt_at <= clock_timestamp()`;

/** Takes the row `d`: a higher token, so that the next write of a relay that was overtaken changes nothing. */
const takeFor = (leaseMs: string) => `
   attempts = d.attempts + 1, fencing_token = d.fencing_token + 1, is_head = true,
   next_attempt_at = clock_timestamp() + ${leaseMs}::float8 * interval '1 ms'`;

const TAKEN_COLUMNS = `d.event_id AS "eventId", d.destination, d.aggregate, d.sequence::float8 AS sequence, d.attempts,
  d.fencing_token AS "fencingToken", e.type, e.payload, e.headers, e.derived_key AS "derivedKey",
  ${epochMs('e.created_at')} AS "createdAt"`;

// A candidate `c` is judged by the first open row of its aggregate. If it is that one, it is locked, and taken if it is due.
//
// If another one stands before it, it is put aside, while that one is locked and looked at once more: whoever settles that one
// comes later, and the trigger finds what was put aside. It is left as it is where somebody else holds one of the two; where
// nothing would take it up again (tables without the trigger); and where the trigger would not see it (a stricter isolation,
// which the database may have by default).
//
// SKIP LOCKED: of many relays one takes a row, and none waits. A locked head is passed over with its whole aggregate, never for
// the row behind it. Each lock re-checks the newest version of its row, so what another relay has taken or marked a moment ago
// is left alone. Each stands in a lateral query, so that rows are locked one after the other, until there are enough,
// and names its row by all that the indexes have: whichever of them the planner takes, it finds one row.
//
// The row is still the first, as whatever is committed later has a higher number (`outbox.ts`).
const JUDGED = `
  LEFT JOIN LATERAL (
    SELECT o.event_id, o.sequence FROM outbox_deliveries o
     WHERE o.destination = $1::text AND o.aggregate = c.aggregate AND o.sequence < c.sequence AND o.${IS_OPEN}
     ORDER BY o.aggregate, o.sequence LIMIT 1) before ON true
  LEFT JOIN LATERAL (
    SELECT true AS stays FROM outbox_deliveries o
     WHERE o.event_id = before.event_id AND o.destination = $1::text AND o.${IS_OPEN}
       AND o.aggregate = c.aggregate AND o.sequence = before.sequence
       AND current_setting('transaction_isolation') = 'read committed'
       AND EXISTS (SELECT FROM pg_trigger WHERE tgrelid = 'outbox_deliveries'::regclass AND tgenabled IN ('O', 'A')
                      AND tgname = 'outbox_deliveries_settled')
       FOR SHARE SKIP LOCKED) held ON true
  LEFT JOIN LATERAL (
    SELECT o.event_id, before.event_id IS NULL AS is_head, before.event_id IS NULL AND o.${IS_DUE} AS is_taken
      FROM outbox_deliveries o
     WHERE o.event_id = c.event_id AND o.destination = $1::text AND o.state = 'pending'
       AND o.aggregate = c.aggregate AND o.sequence = c.sequence
       AND CASE WHEN before.event_id IS NULL THEN o.is_head IS NULL OR o.${IS_DUE} ELSE held.stays END
       FOR UPDATE SKIP LOCKED) judged ON true`;

const IS_RUNNING = 'NOT EXISTS (SELECT FROM outbox_stops WHERE destination = $1::text)';

// First of the heads that are due, at most $5: those that were put off, whose turn has come, or whose relay is gone. Then, for
// the places that are left, of what nobody has looked at, one row of each aggregate behind $4: so a million events behind one
// another cost no more than one. Rows that were put aside are nowhere here, so many of them cost nothing.
const TAKE_HEADS = `
WITH RECURSIVE due AS MATERIALIZED (
  SELECT judged.* FROM (
    SELECT o.event_id, o.aggregate, o.sequence FROM outbox_deliveries o
     WHERE o.destination = $1::text AND o.state = 'pending' AND o.is_head AND o.next_attempt_at <= statement_timestamp()
       AND ${IS_RUNNING}
     ORDER BY o.next_attempt_at) c ${JUDGED}
   WHERE judged.event_id IS NOT NULL LIMIT $5::int),
new AS (
  SELECT $4::text AS aggregate, 0 AS jumps, (SELECT count(*) FROM due WHERE is_taken) AS taken,
         NULL::uuid AS event_id, NULL::boolean AS is_head, NULL::boolean AS is_taken
  UNION ALL
  SELECT c.aggregate::text, new.jumps + 1, new.taken + coalesce(judged.is_taken, false)::int,
         judged.event_id, judged.is_head, judged.is_taken
    FROM new CROSS JOIN LATERAL (
      SELECT o.event_id, o.aggregate, o.sequence FROM outbox_deliveries o
       WHERE o.destination = $1::text AND o.aggregate > new.aggregate AND o.state = 'pending' AND o.is_head IS NULL
         AND ${IS_RUNNING}
       ORDER BY o.aggregate, o.sequence LIMIT 1) c ${JUDGED}
   WHERE new.taken < $3::int AND new.jumps < ${MAX_JUMPS}),
looked AS MATERIALIZED (
  SELECT event_id, is_head, is_taken FROM due
  UNION ALL
  SELECT event_id, is_head, is_taken FROM new WHERE event_id IS NOT NULL),
kept AS (
  UPDATE outbox_deliveries d SET is_head = looked.is_head
    FROM looked WHERE d.destination = $1::text AND d.event_id = looked.event_id AND NOT looked.is_taken),
taken AS (
  UPDATE outbox_deliveries d SET ${takeFor('$2')}
    FROM outbox_events e
   WHERE d.destination = $1::text AND d.event_id IN (SELECT event_id FROM looked WHERE is_taken) AND e.id = d.event_id
  RETURNING ${TAKEN_COLUMNS})
SELECT CASE WHEN new.taken = $3::int OR new.jumps = ${MAX_JUMPS} THEN new.aggregate
            WHEN (SELECT count(*) FROM due) = $5::int THEN '' END AS after, taken.*
  FROM (SELECT * FROM new ORDER BY jumps DESC LIMIT 1) new LEFT JOIN taken ON true`;

type Looked = { after: string | null } & (Delivery | { eventId: null; createdAt: null });

const takeHeads: Asked<Outbox, 'takeHeads'> = async (db, destination, leaseMs, { limit, ofDue, after }) => {
  const rows = await withDates<Looked>(
    db.$queryRawUnsafe(TAKE_HEADS, destination, leaseMs, limit, after, ofDue),
    'createdAt',
  );
  return { heads: rows.filter((row) => row.eventId !== null), after: rows[0]?.after ?? undefined };
};

/** A delivery as its relay knows it: parameters 1 to 3, from `heldValues`. */
const IS_HELD = `event_id = $1::uuid AND destination = $2::text AND fencing_token = $3::int AND state = 'pending'`;

function heldValues({ eventId, destination, fencingToken }: Taken): [string, string, number] {
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

type Marked = { marked: boolean } & (Delivery | { eventId: null; createdAt: null });

const markDelivered: Asked<Outbox, 'markDelivered'> = async (db, taken, leaseMs) => {
  const rows = await withDates<Marked>(db.$queryRawUnsafe(DELIVERED, ...heldValues(taken), leaseMs), 'createdAt');
  const [{ marked, ...next }] = rows as [Marked];
  return { marked, next: next.eventId === null ? undefined : next };
};

// Each names the token, like `DELIVERED`: a relay that has been overtaken neither puts off nor gives up what another one
// is sending.
const change = (set: string) => `
UPDATE outbox_deliveries SET ${set}
 WHERE ${IS_HELD}
RETURNING 1`;

const POSTPONE = change(`next_attempt_at = clock_timestamp() + $4::float8 * interval '1 ms', last_error = $5::varchar`);
const GIVE_UP = change(
  'state = $4::varchar, settled_at = clock_timestamp(), next_attempt_at = NULL, last_error = $5::varchar',
);
const GIVE_BACK = change(`next_attempt_at = ${NOW}, attempts = attempts - 1`);

// The stop first, with a record of it, and whoever holds the event: a destination that says 410 means all of them. Two
// relays that hear it at once make one row; the second waits for the first and changes nothing.
const STOP = `
WITH stopped AS (
  INSERT INTO outbox_stops (destination, reason) VALUES ($1::varchar, $2::varchar)
  ON CONFLICT (destination) DO NOTHING
  RETURNING destination)
INSERT INTO message_events (box, event_id, peer, type, actor)
SELECT 'outbox', $3::varchar, destination, 'stopped', 'relay' FROM stopped`;

const postponeDelivery: Asked<Outbox, 'postponeDelivery'> = async (db, taken, pauseMs, error) =>
  (await countRows(db, POSTPONE, ...heldValues(taken), pauseMs, truncate(error))) > 0;

const giveUp: Asked<Outbox, 'giveUp'> = async (db, taken, as, error) =>
  (await countRows(db, GIVE_UP, ...heldValues(taken), as, truncate(error))) > 0;

const giveBack: Asked<Outbox, 'giveBack'> = async (db, taken, stop) => {
  if (stop !== null) await db.$queryRawUnsafe(STOP, taken.destination, truncate(stop), taken.eventId);
  return (await countRows(db, GIVE_BACK, ...heldValues(taken))) > 0;
};

/** As much as the column holds. NUL is no text for PostgreSQL. */
export function truncate(error: string): string {
  return Array.from(error.replaceAll('\0', '')).slice(0, 300).join('');
}

export const deliveryQuestions = { takeHeads, markDelivered, postponeDelivery, giveUp, giveBack };
