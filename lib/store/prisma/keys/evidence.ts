import type { Leases } from '../../leases.ts';
import { countRows, type RawQueries } from '../client.ts';
import type { Asked } from '../db.ts';
import { AUDIT } from './operate.ts';
import { IS_KEY, keyValues, NOW } from './read.ts';

/** One kind of evidence, in SQL: from parameter 5 on. */
interface Kind {
  type: 'evidence' | 'late_answer';
  actor: string;
  detail: string;
  /** Of a row of `known`: whether an event is written. */
  isNoted: string;
  /** Of the started call: which one, and whether the evidence contradicts what would be done with it. */
  call: string;
  contradicts: string;
  /** Whether a person must look: of an open row that is due now, and of a settled one. */
  flags: { due: string; settled: string };
}

// The key's row first, as everybody takes it: an executor that is inside a transaction ends it before it is judged whether its
// lease is live. Then the started call, as it is under that lock: a verdict that was committed while this waited is seen.
// The row of an open key is written in any case, in the statement of the event. So a verdict that is compared at the same
// moment, by what is known and by the version of the row, is either before this, and contradicted, or finds more than was seen.
//
// A live executor is left as it is: it is about to know more than this can say. Unless it acts upon a word that is contradicted
// now. Everybody else loses the key, which is due: whoever asked before it happened would write that nothing is known, and
// when to ask again, over what was heard meanwhile.
//
// What is contradicted counts no longer, and neither does any proof that a send did nothing: "send it again" has become one, also
// for the run that has sent it again since, and which of the sends was done nobody knows. "It went through" stays: it sends nothing.
//
// Said once: a sender that repeats itself wakes the key again, but does not fill the table.
const hear = ({ type, actor, detail, isNoted, call, contradicts, flags }: Kind) => `
WITH found AS MATERIALIZED (
  SELECT lease_until AS lease_end, settled_at IS NULL AS is_open FROM idempotency_keys
   WHERE ${IS_KEY} FOR NO KEY UPDATE),
begun AS MATERIALIZED (
  SELECT name AS step, coalesce(${contradicts}, false) AS is_contradicted FROM idempotency_phases AS begun, found
   WHERE ${IS_KEY} AND state = 'started' AND ${call} FOR NO KEY UPDATE OF begun),
known AS MATERIALIZED (
  SELECT *, is_open AND (is_contradicted IS TRUE OR coalesce(lease_end <= clock_timestamp(), true)) AS is_due
    FROM found LEFT JOIN begun ON true),
heard AS (
  UPDATE idempotency_keys
     SET next_attempt_at = CASE WHEN is_due THEN ${NOW} ELSE next_attempt_at END,
         lease_until = CASE WHEN is_due AND state = 'in_progress' THEN ${NOW} ELSE lease_until END,
         attempts = CASE WHEN is_due THEN 0 ELSE attempts END,
         needs_attention = CASE WHEN is_due THEN ${flags.due} ELSE needs_attention OR NOT is_open END,
         fencing_token = fencing_token + (is_due OR NOT is_open)::int
    FROM known
   WHERE ${IS_KEY} AND (is_open OR ${flags.settled})
  RETURNING 1),
judged AS (
  UPDATE idempotency_phases
     SET verdict = CASE verdict WHEN 'succeeded' THEN verdict END, not_executed = 0
    FROM known
   WHERE ${IS_KEY} AND name = step AND is_open AND is_contradicted),
noted AS (
  INSERT INTO idempotency_events (tenant, principal, operation, key, type, actor, detail)
  SELECT $1::text, $2::text, $3::text, $4::text, '${type}', ${actor}, ${detail} FROM known
   WHERE ${isNoted} AND NOT EXISTS (
     SELECT FROM idempotency_events
      WHERE ${IS_KEY} AND type = '${type}' AND actor = ${actor} AND detail = ${detail}))
SELECT 1 AS heard FROM heard`;

const IS_JUDGED = `verdict IN ('failed', 'retry')`;

const EVIDENCE = hear({
  type: 'evidence',
  actor: '$6::text',
  detail: `jsonb_build_object('said', $5::text)`,
  isNoted: 'is_open',
  call: 'true',
  contradicts: IS_JUDGED,
  flags: { due: 'false', settled: 'false' },
});

// A refusal contradicts nothing: it says of one send that it did nothing. Behind a refusal that has settled the key, a result
// is a person's: the higher token there prevents that somebody who has not seen it takes the flag off.
const LATE_ANSWER = hear({
  type: 'late_answer',
  actor: `'executor'`,
  detail: `jsonb_build_object('step', $5::text, 'token', $6::text, 'said', CASE WHEN $7::boolean THEN 'result' ELSE 'refusal' END)`,
  isNoted: 'true',
  call: 'name = $5::text',
  contradicts: `$7::boolean AND (${IS_JUDGED} OR not_executed > 0)`,
  flags: { due: 'needs_attention', settled: `($7::boolean AND step IS NOT NULL)` },
});

/** Errors are the transaction's own: its caller has to know a deadlock from a lost connection. */
export const recordEvidence: Leases<RawQueries>['recordEvidence'] = async (tx, id, said, actor) =>
  (await countRows(tx, EVIDENCE, ...keyValues(id), said, actor)) > 0;

export const recordLateAnswer: Asked<Leases<never>, 'recordLateAnswer'> = async (db, id, answer) => {
  const { step, token, isResult } = answer;
  await db.$queryRawUnsafe(LATE_ANSWER, ...keyValues(id), step, `${token}`, isResult);
};

// A verdict is about this (ADR 57). To be asked about again changes nothing of it; to be sent again, judged or heard of does.
// Sends by their number and the time of the last: after a failover that has lost some, the number comes again.
const REVISION = `jsonb_build_array(
  (SELECT jsonb_agg(jsonb_build_array(name, sends, not_executed, extract(epoch FROM last_sent_at)) ORDER BY position)
     FROM idempotency_phases WHERE ${IS_KEY} AND state = 'started'),
  (SELECT count(*) FROM idempotency_events WHERE ${IS_KEY} AND type IN ('evidence', 'late_answer')),
  (SELECT count(*) FROM idempotency_audit WHERE ${IS_KEY} AND type = 'verdict'))::text`;

const FIND_REVISION = `
SELECT ${REVISION} AS revision FROM idempotency_keys WHERE ${IS_KEY}`;

// Compare-and-set on what the person saw, with its record in the same statement. What is compared is read as of the statement's
// beginning, and may change while it waits for the key's row, which whoever sends, judges or hears writes in the same
// statement: `xmin` tells whether the row is still of the version that was there at the beginning. If not, it is compared anew.
// The higher token prevents this: a run that asks at the same time writes down, over the verdict, that nothing is known.
//
// A key in progress takes one when it is flagged and at rest: what a person knows need not wait for the provider to be back.
// Whoever looks again may still correct what nobody could act upon: a mistyped reference.
const VERDICT = `
WITH seen AS MATERIALIZED (
  SELECT xmin AS version FROM idempotency_keys
   WHERE ${IS_KEY} AND ${REVISION} = $5
     AND EXISTS (SELECT FROM idempotency_phases WHERE ${IS_KEY} AND state = 'started')
     AND (state = 'unknown' OR (state = 'in_progress' AND needs_attention AND lease_until <= clock_timestamp()))),
taken AS (
  UPDATE idempotency_keys SET next_attempt_at = ${NOW}, fencing_token = fencing_token + 1
   WHERE ${IS_KEY} AND xmin = (SELECT version FROM seen)
  RETURNING 1),
judged AS (
  UPDATE idempotency_phases SET verdict = $6::varchar, reference = $7::varchar
    FROM taken
   WHERE ${IS_KEY} AND state = 'started'
  RETURNING name),
audited AS (
  ${AUDIT}
  SELECT $1::text, $2::text, $3::text, $4::text, 'verdict', $8::text,
         jsonb_strip_nulls(jsonb_build_object('step', name, 'verdict', $6::text, 'reference', $7::text)) FROM judged)
SELECT CASE WHEN EXISTS (SELECT FROM judged) THEN 'recorded'
            WHEN EXISTS (SELECT FROM seen) THEN 'again'
            ELSE 'changed' END AS outcome`;

/** How often a verdict is compared, where others write the key's row at that moment. */
const TRIES = 5;

/** The revision that a verdict would be compared with now; empty where there is no key. */
export const findRevision: Asked<Leases<never>, 'revision'> = async (db, id) => {
  const rows = await db.$queryRawUnsafe<{ revision: string }[]>(FIND_REVISION, ...keyValues(id));
  return rows[0]?.revision ?? '';
};

/** Records the verdict where the call is still of the revision that the person saw. False: it is not, and nothing is written. */
export const recordVerdict: Asked<Leases<never>, 'recordVerdict'> = async (db, id, verdict, actor) => {
  const reference = verdict.kind === 'succeeded' ? verdict.reference : null;
  const values = [...keyValues(id), id.revision, verdict.kind, reference, actor];
  for (let tries = 1; tries <= TRIES; tries++) {
    const [row] = await db.$queryRawUnsafe<[{ outcome: 'recorded' | 'again' | 'changed' }]>(VERDICT, ...values);
    if (row.outcome !== 'again') return row.outcome === 'recorded';
  }
  return false;
};
