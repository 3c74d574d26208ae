import type { InboxStore, OutboxStore } from '../../messages.ts';
import { countRows } from '../client.ts';
import type { Asked } from '../db.ts';
import { NOW } from '../keys/read.ts';

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
const REQUEUE = `
WITH changed AS (
  UPDATE outbox_deliveries
     SET state = 'pending', attempts = 0, next_attempt_at = ${NOW}, settled_at = NULL,
         fencing_token = fencing_token + 1
   WHERE destination = $1::text AND ($2::uuid IS NULL OR event_id = $2::uuid)
     AND (state = 'dead' OR (state = 'skipped' AND $2::uuid IS NOT NULL)) AND ${AS_SEEN}
  RETURNING event_id, destination AS peer)${recorded('outbox', 'requeued', '$3')}`;

// Settled from now on: its retention begins when a person has decided about it.
const SKIP = `
WITH changed AS (
  UPDATE outbox_deliveries SET state = 'skipped', settled_at = clock_timestamp()
   WHERE destination = $1::text AND event_id = $2::uuid AND state = 'dead' AND ${AS_SEEN}
  RETURNING event_id, destination AS peer)${recorded('outbox', 'skipped', '$3')}`;

// All that waits for a destination that is no more. The token is raised against a relay of an older configuration, which
// may hold one of them just now.
const ABANDON = `
WITH changed AS (
  UPDATE outbox_deliveries
     SET state = 'skipped', settled_at = clock_timestamp(), next_attempt_at = NULL, fencing_token = fencing_token + 1
   WHERE destination = $1::text AND state IN ('pending', 'dead')
  RETURNING event_id, destination AS peer)${recorded('outbox', 'abandoned', '$2')}`;

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

const requeue: Asked<Outbox, 'requeue'> = (db, destination, eventId, actor, settledAt) =>
  countRows(db, REQUEUE, destination, eventId, actor, settledAt?.toISOString() ?? null);

const skip: Asked<Outbox, 'skip'> = async (db, destination, eventId, actor, settledAt) =>
  (await countRows(db, SKIP, destination, eventId, actor, settledAt?.toISOString() ?? null)) > 0;

export const abandon: Asked<Outbox, 'abandon'> = (db, destination, actor) => countRows(db, ABANDON, destination, actor);

const resume: Asked<Outbox, 'resume'> = async (db, destination, actor) =>
  (await countRows(db, RESUME, destination, actor)) > 0;

export const requeueReceived: Asked<InboxStore<never>, 'requeue'> = async (db, source, eventId, actor) =>
  (await countRows(db, REQUEUE_RECEIVED, source, eventId, actor)) > 0;

export const sentActQuestions = { requeue, skip, resume };
