import type { KeyId } from '../../../core/scope.ts';
import type { Verdict } from '../../leases.ts';
import type { RawQueries } from '../client.ts';
import { AUDIT } from './audit.ts';
import { NOW } from './row.ts';

// Compare-and-set on what the person saw, with its record in the same statement. The key's row first, and under a higher
// token: a second click, a second person, or a run that asks at the same time changes nothing and is told so. Whoever
// looks again may still correct what nobody could act upon: a mistyped reference. A key in progress takes one when it is
// flagged and at rest: what a person knows need not wait for the provider to be back.
const VERDICT = `
WITH seen AS (
  UPDATE idempotency_keys SET next_attempt_at = ${NOW}, fencing_token = fencing_token + 1
   WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4 AND fencing_token = $5::int
     AND (state = 'unknown' OR (state = 'in_progress' AND needs_attention AND lease_until <= clock_timestamp()))
  RETURNING 1),
judged AS (
  UPDATE idempotency_phases SET verdict = $6::varchar, reference = $7::varchar
    FROM seen
   WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4 AND state = 'started'
  RETURNING name)
${AUDIT}
SELECT $1::text, $2::text, $3::text, $4::text, 'verdict', $8::text,
       jsonb_strip_nulls(jsonb_build_object('step', name, 'verdict', $6::text, 'reference', $7::text)) FROM judged
RETURNING 1`;

// The count of attempts starts anew: a person has looked at it. A completer takes what has a lease that is over.
const RETRY = `
WITH woken AS (
  UPDATE idempotency_keys SET next_attempt_at = ${NOW}, attempts = 0, needs_attention = false,
         lease_until = CASE state WHEN 'in_progress' THEN coalesce(lease_until, ${NOW}) END,
         fencing_token = fencing_token + 1
   WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4 AND fencing_token = $5::int
     AND state IN ('in_progress', 'unknown') AND (lease_until IS NULL OR lease_until <= clock_timestamp())
  RETURNING 1)
${AUDIT}
SELECT $1::text, $2::text, $3::text, $4::text, 'retry', $6::text, NULL FROM woken
RETURNING 1`;

type Seen = KeyId & { fencingToken: number };

/** `Leases.recordVerdict`. */
export async function recordVerdict(db: RawQueries, id: Seen, verdict: Verdict, actor: string): Promise<boolean> {
  const reference = verdict.kind === 'succeeded' ? verdict.reference : null;
  const rows = await db.$queryRawUnsafe<unknown[]>(VERDICT, ...seen(id), verdict.kind, reference, actor);
  return rows.length > 0;
}

/** `Leases.retryNow`. */
export async function retryNow(db: RawQueries, id: Seen, actor: string): Promise<boolean> {
  return (await db.$queryRawUnsafe<unknown[]>(RETRY, ...seen(id), actor)).length > 0;
}

function seen({ tenant, principal, operation, key, fencingToken }: Seen) {
  return [tenant, principal, operation, key, fencingToken] as const;
}
