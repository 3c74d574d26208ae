import {
  type FailedEvent,
  type InboxRow,
  type InboxStore,
  isSamePayload,
  type KnownRow,
  type Receipt,
  type Receiving,
} from '../../messages.ts';
import type { RawQueries } from '../client.ts';
import type { Asked, Db } from '../db.ts';
import { isOutage, outageError } from '../errors.ts';
import { idleLimit } from '../keys/claim.ts';
import { epochMs, withDates } from '../keys/read.ts';
import { LEVEL } from '../statement.ts';
import { explain, type Last, type TransactionPlan } from '../transaction-plan.ts';
import { truncate } from './delivery.ts';

/** How long a transaction may wait for a connection. */
const MAX_WAIT_MS = 5000;

// The unique index decides, and nothing before it: of two deliveries of one event at once the second waits here until
// the first has ended. If that was a commit, DO UPDATE finds "processed" and changes nothing, and its effect is not
// repeated; if it was a rollback, this one inserts. An event that has failed before is taken over from `failed`, by one,
// and only with the payload that it failed with: another one is no repetition of it, and must not take its place. What was
// taken because it was due is run while its lease lasts, so that nobody else runs it, too, before its next pause is over.
//
// The session settings end with the transaction: the server ends it where its process goes silent, or where one of its
// statements takes longer than all of it may, so that a paused machine does not keep all later deliveries waiting.
const CLAIM = `
INSERT INTO inbox_events AS i (source, event_id, state, payload_hash, processed_at, expires_at)
VALUES ($1::varchar, $2::varchar, 'processed', $3::bytea, clock_timestamp(),
        clock_timestamp() + $4::float8 * interval '1 ms')
ON CONFLICT (source, event_id) DO UPDATE
   SET state = 'processed', attempts = i.attempts + CASE WHEN $6::int IS NULL THEN 1 ELSE 0 END, payload_hash = EXCLUDED.payload_hash,
       payload = NULL, next_attempt_at = NULL, last_error = NULL, processed_at = EXCLUDED.processed_at,
       expires_at = EXCLUDED.expires_at
 WHERE i.state = 'failed'
   AND CASE WHEN $6::int IS NULL THEN i.payload_hash = EXCLUDED.payload_hash
            ELSE i.attempts = $6::int AND i.next_attempt_at > clock_timestamp() END
RETURNING set_config('idle_in_transaction_session_timeout', $5, true),
          set_config('statement_timeout', $5, true), ${LEVEL}`;

// COMMIT may be behind it on the wire, so both fail where the claim is not there any more. Without a result there is
// nothing to write.
const RESULT = `
WITH done AS (
  UPDATE inbox_events SET result = $3::text
   WHERE source = $1::text AND event_id = $2::text AND state = 'processed' RETURNING 1)
SELECT 1 / count(*) AS one FROM done`;

const NO_RESULT = `
SELECT 1 / count(*) AS one FROM inbox_events WHERE source = $1::text AND event_id = $2::text AND state = 'processed'`;

export const INBOX_COLUMNS = `source, event_id AS "eventId", state, payload_hash AS "payloadHash", attempts, mismatches,
  last_error AS "lastError", ${epochMs('received_at')} AS "receivedAt", ${epochMs('processed_at')} AS "processedAt",
  ${epochMs('next_attempt_at')} AS "nextAttemptAt"`;

/** The rows of a statement that selects these. */
export const readReceived = <Row extends InboxRow>(rows: PromiseLike<unknown>) =>
  withDates<Row>(rows, 'receivedAt', 'processedAt', 'nextAttemptAt');

const FIND = `
SELECT ${INBOX_COLUMNS}, result, payload IS NOT NULL AS "isKept" FROM inbox_events
 WHERE source = $1::text AND event_id = $2::text`;

/** Writes that the event is processed, and runs its effect, in one transaction: see `InboxStore.receive`. */
export async function receive<Tx>(
  db: Db,
  event: Receipt,
  run: (tx: Tx) => Promise<string | null>,
  { timeoutMs, retentionMs, onPoint, taken }: Parameters<InboxStore<Tx>['receive']>[2],
): Promise<Receiving> {
  const { source, eventId, payloadHash } = event;
  const values = [source, eventId, payloadHash, retentionMs, idleLimit(timeoutMs), taken ?? null];
  const plan: TransactionPlan<Tx, true, Last, Receiving> = {
    first: () => [{ text: CLAIM, values, mayWait: true }],
    check: async ([claimed], queries) =>
      claimed ? { claimed: true } : { conflict: await findConflict(queries, event, taken) },
    async work(tx) {
      await onPoint('claimed');
      const result = await run(tx);
      const id = [source, eventId];
      return { last: result === null ? { text: NO_RESULT, values: id } : { text: RESULT, values: [...id, result] } };
    },
  };
  // READ COMMITTED, the default: what another transaction has committed while this one waited for it must be seen.
  const how = { timeoutMs, maxWaitMs: MAX_WAIT_MS, beforeCommit: () => onPoint('handled') };
  const began = performance.now();
  const ended = await db.runTransaction(plan, how);
  if (ended.kind === 'committed') return ended.isProven ? { kind: 'processed' } : await confirmReceived(db, event);
  if (ended.kind === 'in_doubt') return { kind: 'failed', error: ended.error, isConflict: false };
  if (ended.kind !== 'rolled_back') return ended;
  // Once claimed, it may be the handler's: a statement out of its time, another system's database. If it is the kit's
  // database that is away, counting the failure finds out.
  if (ended.at === 'claim') {
    if (isOutage(ended.error)) throw outageError(ended.error, performance.now() - began);
    await db.throwMissingSchema(ended.error);
  }
  return { kind: 'failed', error: explain(ended), isConflict: ended.why === 'conflict' };
}

async function findConflict(db: RawQueries, event: Receipt, taken: number | undefined): Promise<Receiving> {
  const row = await findReceived(db, event);
  if (row && (taken !== undefined || row.state !== 'failed' || !isSamePayload(row, event)))
    return { kind: 'existing', row };
  // Reaped, or requeued, between two statements. The next try sees it as it is.
  return { kind: 'failed', error: new Error('The event changed while it was looked at.'), isConflict: true };
}

/**
 * Looks whether a COMMIT that Prisma reports as done is one: see `confirmCommit`. An event that is acknowledged without its
 * effect would never come again.
 */
async function confirmReceived(db: Db, event: Receipt): Promise<Receiving> {
  const row = await db.run((queries) => findReceived(queries, event));
  if (row?.state === 'processed') return { kind: 'processed' };
  const error = new Error(
    'A statement failed after the handler had returned, and everything was rolled back. Await every query of the handler.',
  );
  return { kind: 'failed', error, isConflict: false };
}

export async function findReceived(
  db: RawQueries,
  { source, eventId }: Pick<Receipt, 'source' | 'eventId'>,
): Promise<KnownRow | undefined> {
  return (await readReceived<KnownRow>(db.$queryRawUnsafe(FIND, source, eventId)))[0];
}

// A statement of its own, behind the rollback: in the transaction, the count of its failures would go with it.
//
// It waits, like the claim, for whoever is processing the event at the same moment, and then looks at what that came to:
// a processed event is not counted down to a dead letter by a delivery that failed beside it. The pauses come as a list,
// because how many attempts there were is only known under the row's lock.
//
// The payload that was written down first stays: it is what is run again, and what later ones are compared with.
//
// A failure before the next try is due is not counted: ten deliveries of one moment, or a stream that delivers again at
// once, would make a dead letter of what a minute would have mended.
//
// What was taken because it was due has been counted by that; its number tells that nobody has taken it since.
const FAILED = `
INSERT INTO inbox_events AS i
  (source, event_id, state, payload_hash, payload, attempts, last_error, next_attempt_at)
VALUES ($1::varchar, $2::varchar, CASE WHEN cardinality($5::float8[]) < 1 THEN 'dead' ELSE 'failed' END, $3::bytea,
        $4::text, 1, $6::varchar, clock_timestamp() + ($5::float8[])[1] * interval '1 ms')
ON CONFLICT (source, event_id) DO UPDATE
   SET attempts = coalesce($7::int, i.attempts + 1), payload = coalesce(i.payload, EXCLUDED.payload),
       last_error = EXCLUDED.last_error,
       state = CASE WHEN cardinality($5::float8[]) < coalesce($7::int, i.attempts + 1) THEN 'dead' ELSE 'failed' END,
       next_attempt_at = clock_timestamp() + ($5::float8[])[coalesce($7::int, i.attempts + 1)] * interval '1 ms'
 WHERE i.state = 'failed'
   AND (i.attempts = $7::int
        OR ($7::int IS NULL AND i.payload_hash = EXCLUDED.payload_hash AND i.next_attempt_at <= clock_timestamp()))
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

// Puts the next look off while one is under way, and counts it: what ends its process is not there to be counted afterwards.
// No token: whoever runs it claims it in its transaction, and only one can.
const TAKE_FAILED = `
WITH due AS MATERIALIZED (
  SELECT source, event_id FROM inbox_events
   WHERE next_attempt_at <= statement_timestamp() AND state = 'failed' AND payload IS NOT NULL
     AND source = $1::text
   ORDER BY next_attempt_at LIMIT 1
     FOR UPDATE SKIP LOCKED)
UPDATE inbox_events
   SET attempts = attempts + 1, next_attempt_at = clock_timestamp() + $2::float8 * interval '1 ms'
 WHERE (source, event_id) IN (SELECT source, event_id FROM due)
RETURNING source, event_id AS "eventId", payload, attempts`;

// The number is that of the attempt: whoever has taken it since is left alone.
const GIVE_BACK = `
UPDATE inbox_events SET attempts = attempts - 1
 WHERE source = $1::text AND event_id = $2::text AND state = 'failed' AND attempts = $3::int`;

type Inbox = InboxStore<never>;

const recordFailure: Asked<Inbox, 'recordFailure'> = async (db, event, failure) => {
  const { source, eventId, payloadHash } = event;
  const { payload, pausesMs, error, taken = null } = failure;
  await db.$queryRawUnsafe(FAILED, source, eventId, payloadHash, payload, pausesMs, truncate(error), taken);
  const row = await findReceived(db, event);
  if (!row) throw new Error('The event was deleted while its failure was written down.');
  return row;
};

const recordMismatch: Asked<Inbox, 'recordMismatch'> = async (db, { source, eventId }) =>
  void (await db.$queryRawUnsafe(MISMATCHED, source, eventId));

const takeFailed: Asked<Inbox, 'takeFailed'> = async (db, source, leaseMs) =>
  (await db.$queryRawUnsafe<FailedEvent[]>(TAKE_FAILED, source, leaseMs))[0];

const giveBack: Asked<Inbox, 'giveBack'> = async (db, { source, eventId, attempts }) =>
  void (await db.$queryRawUnsafe(GIVE_BACK, source, eventId, attempts));

export const receptionQuestions = { recordFailure, recordMismatch, takeFailed, giveBack };
