import type { LostKeys } from '../../lost-keys.ts';
import { type OutboxStore, RELAY_TASK } from '../../messages.ts';
import type { AnnouncedEvent, Oversight } from '../../oversight.ts';
import { type RawQueries, RERUNS } from '../client.ts';
import type { Asked } from '../db.ts';
import { sqlState } from '../errors.ts';
import { epochMs, NOW, withDates } from '../keys/read.ts';
import { explainSchemaError } from '../keys/schema.ts';
import { timestamp } from '../wire/encoding.ts';

// Where a job cannot be added, the transaction would roll back for it. `add_job` runs as its caller, unless the app has made it run
// as its owner, and the runner's tables show a row to nobody else without a policy. Looked up by name, as a join of catalogs would be
// planned for each event. A name in a schema that one may not use is an error, so that is asked first, and the names are made of the
// schema's: the planner would look up constants.
const CAN_WAKE = `
EXISTS (
  SELECT FROM pg_namespace n
   WHERE nspname = 'graphile_worker' AND CASE WHEN has_schema_privilege(oid, 'USAGE') THEN (
     SELECT has_function_privilege(oid, 'EXECUTE') AND (prosecdef OR (
              SELECT bool_and(has_table_privilege(t, 'SELECT') AND has_table_privilege(t, 'INSERT')
                              AND (t <> jobs OR has_table_privilege(t, 'UPDATE'))
                              AND (NOT row_security_active(t) OR EXISTS (SELECT FROM pg_policy WHERE polrelid = t)))
                FROM to_regclass(n.nspname || '._private_jobs') AS jobs,
                     unnest(ARRAY[jobs, to_regclass(n.nspname || '._private_tasks'),
                                  to_regclass(n.nspname || '._private_job_queues')]) AS t))
       FROM pg_proc WHERE oid = to_regproc(n.nspname || '.add_job')) END)`;

// The number is drawn under a lock on the aggregate's row, which is kept until COMMIT. It prevents this: one transaction
// draws 1 and another draws 2 and commits first; a relay sends 2, and then finds 1. With the lock the second one draws
// only when the first has ended, so whoever sees a number sees all that are smaller, and a number that was rolled back
// is drawn again: no gaps.
//
// The cost: transactions that announce something of the same aggregate wait for each other from here on. They
// mostly do so before, at the row that the aggregate is. Nothing is shared between aggregates.
//
// ON CONFLICT: the same intent announcing the same step twice is a mistake, and the caller is told so in words; a unique
// violation would abort the transaction first. Not on the derived key alone: of two at the same moment, the second may meet
// the first at the id, which follows from it. An operation that runs again (R3) announces again what its earlier execution has
// announced: that event is its event, and stays as it is.
//
// Where the event is there, no number is drawn for it, in case the caller catches the error and commits. One that another
// transaction commits while this statement waits is not seen in time: the last row then tells that a number was drawn in vain.
const INSERT_EVENT = `
WITH numbered AS (
  INSERT INTO outbox_aggregates AS a (aggregate, last_sequence)
  SELECT $2::varchar, 1 WHERE NOT EXISTS (SELECT FROM outbox_events WHERE derived_key = $6::varchar)
  ON CONFLICT (aggregate) DO UPDATE SET last_sequence = a.last_sequence + 1
  RETURNING last_sequence),
event AS (
  INSERT INTO outbox_events (id, aggregate, sequence, type, payload, headers, derived_key, created_at)
  SELECT $1::uuid, $2::varchar, last_sequence, $3::varchar, $4::text, $5::jsonb, $6::varchar, clock_timestamp()
    FROM numbered
  ON CONFLICT DO NOTHING
  RETURNING id, aggregate, sequence),
deliveries AS (
  INSERT INTO outbox_deliveries (event_id, destination, aggregate, sequence, next_attempt_at)
  SELECT id, destination, aggregate, sequence, ${NOW} FROM event, unnest($7::text[]) AS destination)
SELECT id AS "eventId", sequence,
       ${CAN_WAKE} AS can_wake
  FROM event
UNION ALL
SELECT id, sequence, false FROM outbox_events
 WHERE derived_key = $6::varchar AND created_at < transaction_timestamp() AND current_setting('${RERUNS}', true) = 'on'
UNION ALL
SELECT NULL, last_sequence, false FROM numbered WHERE NOT EXISTS (SELECT FROM event)`;

// The row is locked since the number was drawn, so nobody has seen it. What was the first number was the aggregate's beginning.
const UNDRAW = `
WITH unbegun AS (DELETE FROM outbox_aggregates WHERE aggregate = $1::text AND last_sequence = 1)
UPDATE outbox_aggregates SET last_sequence = last_sequence - 1 WHERE aggregate = $1::text AND last_sequence > 1`;

export const insertEvent: OutboxStore<RawQueries>['insertEvent'] = async (tx, event) => {
  const { id, aggregate, type, payload, headers, derivedKey, destinations, wakes } = event;
  const values = [id, aggregate, type, payload, JSON.stringify(headers), derivedKey, destinations];
  let rows: { eventId: string | null; sequence: bigint; can_wake: boolean }[];
  try {
    rows = await tx.$queryRawUnsafe(INSERT_EVENT, ...values);
    if (rows[0]?.eventId === null) {
      await tx.$queryRawUnsafe(UNDRAW, aggregate);
      rows = await tx.$queryRawUnsafe(INSERT_EVENT, ...values); // which sees the other's event now
    }
  } catch (error) {
    // The transaction has failed, and takes no questions: what the database has instead is not asked.
    throw await explainSchemaError(error, undefined, 'messaging');
  }
  const [row] = rows;
  if (row?.eventId === null) throw new Error(`The number ${row.sequence} of ${aggregate} is another event's already.`);
  if (row?.can_wake && wakes && destinations.length > 0) {
    await tx.$queryRawUnsafe(WAKE, RELAY_TASK, `${RELAY_TASK}:${aggregate}`);
  }
  return row && { eventId: row.eventId, sequence: Number(row.sequence) };
};

// A job that a commit makes visible and a rollback does not (a transactionally staged job,
// https://brandur.org/job-drain). It only says "look": a lost one costs a second, until the relay's next round.
//
// The job key makes a thousand events of one aggregate one job. It names the aggregate, whose row this transaction has
// locked already, so nobody waits at it who has not waited before. One key for all would make every transaction that
// announces anything wait for every other, from here until COMMIT, and deadlock with what they lock afterwards.
const WAKE = `
SELECT graphile_worker.add_job($1::text, '{}'::json, job_key := $2::text, max_attempts := 1) IS NULL AS nothing`;

// Nothing names the key of an event but its derived key, which cannot be read backwards: so each event of that time is
// tried, by the step that `enqueue` gives it. Five minutes more on each side, because an event's time is by its
// process's clock, and a key's by the database's. The bound is for a key that has been open for days.
const ANNOUNCED = `
SELECT id::text AS "eventId", type, ${epochMs('created_at')} AS "createdAt"
  FROM (SELECT * FROM outbox_events
         WHERE created_at >= $1::timestamptz - interval '5 min'
           AND created_at <= coalesce($2::timestamptz, statement_timestamp()) + interval '5 min'
         ORDER BY created_at DESC LIMIT 100000) AS near,
       convert_to('event ' || type || ' ' || aggregate, 'UTF8') AS step
 WHERE derived_key = encode(sha256($3::bytea || int4send(octet_length(step)) || step), 'hex')
 ORDER BY created_at, aggregate, sequence`;

// A row of this transaction is recognised by its transaction's number; the time narrows the look to what an index finds.
const ANNOUNCED_IN = `
SELECT id::text AS id FROM outbox_events
 WHERE created_at >= transaction_timestamp() - interval '1 s' AND xmin = pg_current_xact_id()::xid`;

const KNOWN = 'SELECT id::text AS id FROM outbox_events WHERE id = ANY ($1::text[]::uuid[])';

export const findAnnounced: Asked<Oversight, 'announced'> = async (db, { claimedAt, settledAt }, intent) => {
  const until = settledAt && timestamp(settledAt);
  const rows = db.$queryRawUnsafe(ANNOUNCED, timestamp(claimedAt), until, intent);
  return await ofOutbox(withDates<AnnouncedEvent>(rows, 'createdAt'));
};

export const findAnnouncedIn: LostKeys<RawQueries>['announcedIn'] = async (tx) =>
  (await ofOutbox(tx.$queryRawUnsafe<{ id: string }[]>(ANNOUNCED_IN))).map(({ id }) => id);

export const findKnown: Asked<LostKeys<never>, 'knownEvents'> = async (db, ids) =>
  (await ofOutbox(db.$queryRawUnsafe<{ id: string }[]>(KNOWN, ids))).map(({ id }) => id);

/** No rows in an app without an outbox, which has no such table. */
async function ofOutbox<Row>(rows: PromiseLike<Row[]>): Promise<Row[]> {
  try {
    return await rows;
  } catch (error) {
    if (sqlState(error) === '42P01') return [];
    throw error;
  }
}
