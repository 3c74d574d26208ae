import { assertStorableName, type KeyId } from '../../../core/scope.ts';
import type { Heard, LateAnswer } from '../../evidence.ts';
import type { Leases } from '../../leases.ts';
import type { ActResult } from '../../oversight.ts';
import type { PrismaClientLike, RawQueries } from '../client.ts';
import type { Asked } from '../db.ts';
import { BATCH_MS } from '../timeouts.ts';
import { writeAsSeen } from './lease.ts';
import { AUDIT } from './operate.ts';
import { IS_KEY, keyValues, NOW } from './read.ts';

/** One kind of evidence, in SQL: from parameter 5 on. */
interface Kind {
  /** The event that is written: its type may depend on `known`. */
  event: { type: string; actor: string; detail: string };
  /** Of a row of `known`: whether the event is written. */
  isNoted: string;
  /** Which call it is of, and whether it contradicts what would be done with that while it is begun. */
  call: string;
  contradicts: string;
  /** What `known` has besides. */
  facts?: string;
  /** Whether a person must look: at an open row that is due now, and at any row, for what is alarming. */
  flags: { due: string; alarm: string };
  /** Where a person's word is void. */
  voids: string;
  /** What is written of the call besides, and where. */
  sets?: { values: string; where: string };
  /** What the caller is told. */
  told: string;
}

/** What a person's "it failed" has freed, or would; null of a key that held no thing. */
const FREED = `(
  SELECT detail FROM idempotency_events WHERE ${IS_KEY} AND type = 'thing_freed' ORDER BY id DESC LIMIT 1)`;

// The key's row first, as everybody takes it: an executor that is inside a transaction ends it before it is judged whether its
// lease is live. Then the call, as it is under that lock: a verdict that was committed while this waited is seen.
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
const hear = ({ event, isNoted, call, contradicts, facts = '', flags, voids, sets, told }: Kind) => `
WITH found AS MATERIALIZED (
  SELECT lease_until AS lease_end, settled_at IS NULL AS is_open, settled_at IS NOT NULL AND result IS NULL AS is_forgotten
    FROM idempotency_keys
   WHERE ${IS_KEY} FOR NO KEY UPDATE),
called AS MATERIALIZED (
  SELECT name AS step, called.state = 'started' AS is_begun, verdict AS said_before, reference AS known_as,
         called.state = 'started' AND is_open AND coalesce(${contradicts}, false) AS is_contradicted
    FROM idempotency_phases AS called, found
   WHERE ${IS_KEY} AND ${call} FOR NO KEY UPDATE OF called),
known AS MATERIALIZED (
  SELECT *, is_open AND (is_contradicted IS TRUE OR coalesce(lease_end <= clock_timestamp(), true)) AS is_due${facts}
    FROM found LEFT JOIN called ON true),
told AS MATERIALIZED (
  SELECT *, ${event.type} AS type, EXISTS (
    SELECT FROM idempotency_events AS event
     WHERE ${IS_KEY} AND event.type = ${event.type} AND actor = ${event.actor} AND detail = ${event.detail}) AS is_repeated
    FROM known),
heard AS (
  UPDATE idempotency_keys
     SET next_attempt_at = CASE WHEN is_due THEN ${NOW} ELSE next_attempt_at END,
         lease_until = CASE WHEN is_due AND state = 'in_progress' THEN ${NOW} ELSE lease_until END,
         attempts = CASE WHEN is_due THEN 0 ELSE attempts END,
         needs_attention = ${flags.alarm} OR CASE WHEN is_due THEN ${flags.due} ELSE needs_attention END,
         fencing_token = fencing_token + (is_due OR NOT is_open)::int
    FROM told
   WHERE ${IS_KEY} AND (is_open OR ${flags.alarm})),
judged AS (
  UPDATE idempotency_phases
     SET verdict = CASE WHEN ${voids} THEN NULL ELSE verdict END,
         not_executed = CASE WHEN is_contradicted THEN 0 ELSE not_executed END${sets ? `, ${sets.values}` : ''}
    FROM told
   WHERE ${IS_KEY} AND name = step AND (is_contradicted${sets ? ` OR ${sets.where}` : ''})),
noted AS (
  INSERT INTO idempotency_events (tenant, principal, operation, key, type, actor, detail)
  SELECT $1::text, $2::text, $3::text, $4::text, type, ${event.actor}, ${event.detail} FROM told
   WHERE ${isNoted} AND NOT is_repeated)
SELECT ${told} AS told, NOT is_open AND ${FREED} IS NOT NULL AS "wasFreed" FROM told`;

// A person's "it failed" has freed the thing that is done once. What proves the contrary takes it again, unless another key has it by
// now: the index decides, and a proof that is repeated asks anew, for that key may have let it go. In a statement of its own of the
// same transaction: tables of before version 6 have no things, and it sees what was committed while the one before it waited.
const RETAKE = `
WITH taken AS (
  INSERT INTO idempotency_things (tenant, principal, operation, key, thing, is_forever)
  SELECT $1::text, $2::text, $3::text, $4::text, freed ->> 'thing', freed ->> 'held' IS NOT NULL FROM (SELECT ${FREED} AS freed) AS judged
  ON CONFLICT (thing, operation, tenant) DO NOTHING
  RETURNING thing AS name)
UPDATE idempotency_keys SET thing = name FROM taken WHERE ${IS_KEY}`;

async function hearOn(db: RawQueries, statement: string, id: KeyId, ...values: unknown[]): Promise<Heard | null> {
  const [row] = await db.$queryRawUnsafe<{ told: Heard | null; wasFreed: boolean }[]>(
    statement,
    ...keyValues(id),
    ...values,
  );
  if (row?.told === 'contradicts' && row.wasFreed) await db.$queryRawUnsafe(RETAKE, ...keyValues(id));
  return row?.told ?? null;
}

const IS_JUDGED = `verdict IN ('failed', 'retry')`;
const VOIDS_JUDGED = `is_contradicted AND verdict <> 'succeeded'`;

// What a call is known as is the provider's word, unless a person has said that it went through, which a proof corrects: a word
// that overrules it later would take the person's reference off, untried. A second name is another payment. So is one of a call
// that was unanswered when its key ended: what that said was not so. The name is parameter 8.
const IS_ALARMING = `step IS NOT NULL AND (NOT is_open AND is_begun
           OR coalesce(known_as <> $8::text AND NOT (is_open AND is_begun AND said_before IS NOT DISTINCT FROM 'succeeded'), false))`;

const WORDS = hear({
  event: { type: `'evidence'`, actor: '$6::text', detail: `jsonb_build_object('said', $5::text)` },
  isNoted: 'is_open',
  call: `state = 'started'`,
  contradicts: IS_JUDGED,
  flags: { due: 'false', alarm: 'false' },
  voids: VOIDS_JUDGED,
  told: `CASE WHEN is_open THEN 'recorded' ELSE 'none' END`,
});

// What is repeated wakes nobody: a person may have seen to it.
const PROOF = hear({
  event: {
    type: `CASE WHEN is_alarming THEN 'contradicted' ELSE 'evidence' END`,
    actor: '$6::text',
    detail: `jsonb_build_object('said', $5::text, 'step', $7::text, 'reference', $8::text)`,
  },
  isNoted: '(is_open OR is_alarming)',
  call: 'name = $7::text',
  contradicts: `${IS_JUDGED} OR not_executed > 0`,
  facts: `, ${IS_ALARMING} AS is_alarming`,
  flags: { due: '(is_alarming AND needs_attention)', alarm: '(is_alarming AND NOT is_repeated)' },
  voids: 'is_open AND is_begun',
  sets: {
    values: 'reference = CASE WHEN is_alarming AND known_as IS NOT NULL THEN known_as ELSE $8::text END',
    // What was erased stays so: the sender may repeat what it said.
    where: '(known_as IS NULL AND NOT (is_forgotten AND (is_repeated OR NOT is_begun))) OR (is_open AND is_begun)',
  },
  told: `CASE WHEN is_alarming THEN 'contradicts' WHEN NOT is_open THEN 'none'
              WHEN is_begun THEN 'ends' ELSE 'recorded' END`,
});

// A refusal contradicts nothing: it says of one send that it did nothing. Behind a refusal that has settled the key, a result
// is a person's: the higher token there prevents that somebody who has not seen it takes the flag off.
//
// The receipt of an open call is that of its next run, which may have to send it again under the same key: written beside the
// call it would be a proof, over which nothing is sent. It is in the event, which is compared with what that run comes to.
const LATE_ANSWER = hear({
  event: {
    type: `CASE WHEN is_alarming AND $8::text IS NOT NULL THEN 'contradicted' ELSE 'late_answer' END`,
    actor: `'executor'`,
    detail: `jsonb_strip_nulls(jsonb_build_object('step', $5::text, 'token', $6::text, 'reference', $8::text,
                                                  'said', CASE WHEN $7::boolean THEN 'result' ELSE 'refusal' END))`,
  },
  isNoted: 'true',
  call: `name = $5::text`,
  contradicts: `$7::boolean AND (${IS_JUDGED} OR not_executed > 0)`,
  facts: `, $7::boolean AND ${IS_ALARMING} AS is_alarming,
         coalesce(known_as, $8::text) = $8::text AND NOT (is_forgotten OR is_open AND is_begun) AS is_kept`,
  flags: { due: 'needs_attention', alarm: 'is_alarming' },
  voids: VOIDS_JUDGED,
  sets: {
    values: `reference = coalesce(reference, CASE WHEN is_kept THEN $8::text END),
         amount = coalesce(amount, CASE WHEN is_kept THEN $9::text END)`,
    where: 'is_kept',
  },
  told: `CASE WHEN is_alarming THEN 'contradicts' END`,
});

/**
 * Errors of the database are the transaction's own: its caller has to know a deadlock from a lost connection.
 *
 * @throws ConfigurationError for what its columns do not take, before anything is sent: the transaction can go on
 */
export const recordEvidence: Leases<RawQueries>['recordEvidence'] = async (tx, id, evidence, actor) => {
  const { said, step, succeeded } = typeof evidence === 'string' ? { said: evidence } : evidence;
  assertStorableName(said, 1000, 'What was heard needs a line of words, such as the type of the event and its id.');
  assertStorableName(actor, 255, 'What was heard needs the name of who has said it, such as stripe.');
  // No key is called so, and the sender may have made it up.
  if (keyValues(id).some((part) => part.includes('\0'))) return 'none';
  if (typeof evidence === 'string') return (await hearOn(tx, WORDS, id, said, actor)) ?? 'none';
  assertStorableName(step, 100, 'A proof needs the step of its call: the name that `foreign` was given.');
  assertStorableName(succeeded, 255, 'A proof needs the reference of its call.');
  return (await hearOn(tx, PROOF, id, said, actor, step, succeeded)) ?? 'none';
};

/** It waits for a connection, and for the transaction of whoever has the key, and reads what that has written. */
const LATE_ANSWER_TRANSACTION = { maxWait: BATCH_MS, timeout: BATCH_MS, isolationLevel: 'ReadCommitted' } as const;

/** In one transaction: a process that dies in between must not leave the key flagged and its thing free. */
export async function recordLateAnswer(db: PrismaClientLike, id: KeyId, answer: LateAnswer): Promise<void> {
  const { step, token, isResult, reference = null, amount = null } = answer;
  const values = [step, `${token}`, isResult, reference, amount];
  await db.$transaction((tx: RawQueries) => hearOn(tx, LATE_ANSWER, id, ...values), LATE_ANSWER_TRANSACTION);
}

// A verdict is about this (ADR 57). To be asked about again changes nothing of it; to be sent again, judged or heard of does.
// Sends by their number and the time of the last: after a failover that has lost some, the number comes again.
const REVISION = `jsonb_build_array(
  (SELECT jsonb_agg(jsonb_build_array(name, sends, not_executed, extract(epoch FROM last_sent_at)) ORDER BY position)
     FROM idempotency_phases WHERE ${IS_KEY} AND state = 'started'),
  (SELECT count(*) FROM idempotency_events WHERE ${IS_KEY} AND type IN ('evidence', 'contradicted', 'late_answer')),
  (SELECT count(*) FROM idempotency_audit WHERE ${IS_KEY} AND type = 'verdict'))::text`;

// What a person has to name who overrules it: the reference of a proof, or else the words that were said last. That a late answer
// had a result is such a word.
const HEARD = `(
  SELECT coalesce(detail ->> 'reference', detail ->> 'said') FROM idempotency_events
   WHERE ${IS_KEY} AND (type IN ('evidence', 'contradicted') OR (type = 'late_answer' AND detail ->> 'said' = 'result'))
   ORDER BY detail ->> 'reference' IS NULL, id DESC LIMIT 1)`;

const FIND_SEEN = `
SELECT ${REVISION} AS revision, ${HEARD} AS heard FROM idempotency_keys WHERE ${IS_KEY}`;

// Compare-and-set on what the person saw, with its record in the same statement. What is compared is read as of the statement's
// beginning, and may change while it waits for the key's row, which whoever sends, judges or hears writes in the same
// statement: `xmin` tells whether the row is still of the version that was there at the beginning. If not, it is compared anew.
// The higher token prevents this: a run that asks at the same time writes down, over the verdict, that nothing is known.
//
// A key in progress takes one when it is flagged and at rest: what a person knows need not wait for the provider to be back.
// Whoever looks again may still correct what nobody could act upon: a mistyped reference.
//
// A proof stays beside a verdict that overrules it: the next run tries it once more before it acts upon the word.
const VERDICT = `
WITH seen AS MATERIALIZED (
  SELECT xmin AS version, $6::text = 'succeeded' OR ${HEARD} IS NOT DISTINCT FROM $9::text AS is_named FROM idempotency_keys
   WHERE ${IS_KEY} AND ${REVISION} = $5
     AND EXISTS (SELECT FROM idempotency_phases WHERE ${IS_KEY} AND state = 'started')
     AND (state = 'unknown' OR (state = 'in_progress' AND needs_attention AND lease_until <= clock_timestamp()))),
taken AS (
  UPDATE idempotency_keys SET next_attempt_at = ${NOW}, fencing_token = fencing_token + 1
   WHERE ${IS_KEY} AND xmin = (SELECT version FROM seen WHERE is_named)
  RETURNING 1),
judged AS (
  UPDATE idempotency_phases SET verdict = $6::varchar,
         reference = coalesce($7::varchar, CASE WHEN verdict IS DISTINCT FROM 'succeeded' THEN reference END)
    FROM taken
   WHERE ${IS_KEY} AND state = 'started'
  RETURNING name),
audited AS (
  ${AUDIT}
  SELECT $1::text, $2::text, $3::text, $4::text, 'verdict', $8::text,
         jsonb_strip_nulls(jsonb_build_object('step', name, 'verdict', $6::text, 'reference', $7::text, 'overrules', $9::text)) FROM judged),
freed AS (
  INSERT INTO idempotency_events (tenant, principal, operation, key, type, actor, detail)
  SELECT $1::text, $2::text, $3::text, $4::text, 'thing_freed', $8::text,
         jsonb_strip_nulls(jsonb_build_object('thing', thing, 'held', CASE WHEN is_forever THEN 'forever' END))
    FROM taken, (SELECT thing AS name FROM idempotency_keys WHERE ${IS_KEY}) AS own
    JOIN idempotency_things AS held ON held.thing = name AND held.operation = $3 AND held.tenant = $1
   WHERE $6::text = 'failed')
SELECT CASE WHEN EXISTS (SELECT FROM judged) THEN 'recorded'
            WHEN EXISTS (SELECT FROM seen) THEN 'refused'
            ELSE 'changed' END AS outcome
 WHERE EXISTS (SELECT FROM judged) OR NOT EXISTS (SELECT FROM seen WHERE is_named)`;

export const findSeen: Asked<Leases<never>, 'asSeen'> = async (db, id) => {
  const rows = await db.$queryRawUnsafe<{ revision: string; heard: string | null }[]>(FIND_SEEN, ...keyValues(id));
  return rows[0] ?? { revision: '', heard: null };
};

const UNREFERRED = 'A verdict that it went through needs the reference of the call, as the provider names it.';

export const recordVerdict: Asked<Leases<never>, 'recordVerdict'> = async (db, id, verdict, actor) => {
  const [reference, overrules] = verdict.kind === 'succeeded' ? [verdict.reference] : [null, verdict.overrules];
  assertStorableName(actor, 255, 'A verdict needs the name of the person who gives it.');
  if (reference !== null) assertStorableName(reference, 255, UNREFERRED);
  const values = [...keyValues(id), id.revision, verdict.kind, reference, actor, overrules ?? null];
  const [row] = await writeAsSeen<{ outcome: ActResult }>(db, VERDICT, values);
  return row?.outcome ?? 'changed';
};
