import type { ActedBatch, InboxStore, OutboxStore } from '../../messages.ts';
import { countRows } from '../client.ts';
import type { Asked } from '../db.ts';
import { epochMs, NOW, withDates } from '../keys/read.ts';
import { IS_OPEN } from './delivery.ts';

const AS_SEEN = '($4::timestamptz IS NULL OR settled_at = $4::timestamptz)';

/** The end of a statement that changes rows: the record of it. `by`: the parameter of who did it. A constant, as all SQL is. */
const recorded = (box: 'outbox' | 'inbox', type: string, by: string) => `
INSERT INTO message_events (box, event_id, peer, type, actor)
SELECT '${box}', event_id, peer, '${type}', ${by}::varchar FROM changed
RETURNING 1`;

// Compare-and-set on the state, with the record in the same statement: a second click finds nothing to do and records
// nothing. Where the time is given at which a person has seen it given up on, what somebody else has decided since is
// left alone, too. The token is raised, so that nobody who gave it up still writes to it. Attempts begin anew: a person
// has looked at it.
const AGAIN = `state = 'pending', attempts = 0, next_attempt_at = ${NOW}, settled_at = NULL, fencing_token = d.fencing_token + 1`;

const actOnOne = (which: string, set: string, type: string) => `
WITH changed AS (
  UPDATE outbox_deliveries d SET ${set}
   WHERE destination = $1::text AND event_id = $2::uuid AND ${which} AND ${AS_SEEN}
  RETURNING event_id, destination AS peer)${recorded('outbox', type, '$3')}`;

const REQUEUE = actOnOne(`state IN ('dead', 'skipped')`, AGAIN, 'requeued');

// Settled from now on: its retention begins when a person has decided about it.
const SKIP = actOnOne(`state = 'dead'`, `state = 'skipped', settled_at = clock_timestamp()`, 'skipped');

// What is done to many is done in batches, each a commit of its own, so that no statement takes longer than the one who asked waits,
// and what breaks off goes on where it stopped. A batch is found behind the one before it, in the order of the index: one that began
// at the front would pass over all that is done. So none is done twice by one act, however soon it is dead again, and that it was
// dead before the act began keeps it from following a destination that refuses all it gets. Locked in that order, two acts at once
// wait for each other, and never both.
const batchOf = (which: string, set: string, type: string) => `
WITH batch AS MATERIALIZED (
  SELECT event_id, aggregate, sequence FROM outbox_deliveries
   WHERE destination = $1::text AND ${which} AND (aggregate, sequence) > ($4::text, $5::bigint)
   ORDER BY aggregate, sequence LIMIT $3::int
     FOR UPDATE),
changed AS (
  UPDATE outbox_deliveries d SET ${set} FROM batch
   WHERE d.destination = $1::text AND d.event_id = batch.event_id
  RETURNING d.event_id, d.destination AS peer),
recorded AS (${recorded('outbox', type, '$2')})
SELECT (SELECT count(*) FROM changed)::int AS count, aggregate, sequence::float8 AS sequence,
       ${epochMs(`coalesce($6::timestamptz, ${NOW})`)} AS "startedAt"
  FROM batch ORDER BY batch.aggregate DESC, batch.sequence DESC LIMIT 1`;

const REQUEUE_DEAD = batchOf(`state = 'dead' AND settled_at <= coalesce($6::timestamptz, ${NOW})`, AGAIN, 'requeued');

// All that waits for a destination that is no more. The token is raised against a relay of an older configuration, which
// may hold one of them just now.
const ABANDON = batchOf(
  IS_OPEN,
  `state = 'skipped', settled_at = clock_timestamp(), next_attempt_at = NULL, fencing_token = d.fencing_token + 1`,
  'abandoned',
);

const OF_ALL_EVENTS = 'NULL AS event_id, destination AS peer';
const RESUME = `
WITH changed AS (DELETE FROM outbox_stops WHERE destination = $1::text RETURNING ${OF_ALL_EVENTS})${recorded('outbox', 'resumed', '$2')}`;

// As above, for the inbox. Due at once: whoever runs failed events again takes it up, or the sender's next delivery does.
const REQUEUE_RECEIVED = `
WITH changed AS (
  UPDATE inbox_events SET state = 'failed', attempts = 0, next_attempt_at = ${NOW}
   WHERE source = $1::text AND event_id = $2::text AND state = 'dead'
  RETURNING event_id, source AS peer)${recorded('inbox', 'requeued', '$3')}`;

type Outbox = OutboxStore<never>;

const requeue: Asked<Outbox, 'requeue'> = async (db, destination, eventId, actor, settledAt) =>
  (await countRows(db, REQUEUE, destination, eventId, actor, settledAt?.toISOString() ?? null)) > 0;

const skip: Asked<Outbox, 'skip'> = async (db, destination, eventId, actor, settledAt) =>
  (await countRows(db, SKIP, destination, eventId, actor, settledAt?.toISOString() ?? null)) > 0;

const actingOnMany =
  (statement: string): Asked<Outbox, 'requeueDead'> =>
  async (db, destination, actor, limit, last) => {
    const from = [last?.aggregate ?? '', last?.sequence ?? 0, last?.startedAt.toISOString() ?? null];
    const rows = db.$queryRawUnsafe(statement, destination, actor, limit, ...from);
    return (await withDates<ActedBatch>(rows, 'startedAt'))[0];
  };

const resume: Asked<Outbox, 'resume'> = async (db, destination, actor) =>
  (await countRows(db, RESUME, destination, actor)) > 0;

export const requeueReceived: Asked<InboxStore<never>, 'requeue'> = async (db, source, eventId, actor) =>
  (await countRows(db, REQUEUE_RECEIVED, source, eventId, actor)) > 0;

export const sentActQuestions = { requeue, skip, resume };
/** They change many rows. */
export const sentBatchQuestions = { requeueDead: actingOnMany(REQUEUE_DEAD), abandon: actingOnMany(ABANDON) };
