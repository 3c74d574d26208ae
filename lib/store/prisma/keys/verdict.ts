import type { KeyId } from '../../../core/scope.ts';
import type { SeenCall, Verdict } from '../../leases.ts';
import type { RawQueries } from '../client.ts';
import { AUDIT } from './audit.ts';
import { IS_KEY, NOW } from './read.ts';

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
export async function findRevision(db: RawQueries, { tenant, principal, operation, key }: KeyId): Promise<string> {
  const rows = await db.$queryRawUnsafe<{ revision: string }[]>(FIND_REVISION, tenant, principal, operation, key);
  return rows[0]?.revision ?? '';
}

/** Records the verdict where the call is still of the revision that the person saw. False: it is not, and nothing is written. */
export async function recordVerdict(db: RawQueries, id: SeenCall, verdict: Verdict, actor: string): Promise<boolean> {
  const { tenant, principal, operation, key, revision } = id;
  const reference = verdict.kind === 'succeeded' ? verdict.reference : null;
  const values = [tenant, principal, operation, key, revision, verdict.kind, reference, actor];
  for (let tries = 1; tries <= TRIES; tries++) {
    const [row] = await db.$queryRawUnsafe<[{ outcome: 'recorded' | 'again' | 'changed' }]>(VERDICT, ...values);
    if (row.outcome !== 'again') return row.outcome === 'recorded';
  }
  return false;
}
