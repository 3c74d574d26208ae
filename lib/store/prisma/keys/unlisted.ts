import type { UnlistedKeys } from '../../oversight.ts';
import type { RawQueries } from '../client.ts';
import { hasNoWorker } from './list.ts';

/** How many keys one look flags at most: the next one goes on. */
const MOST = 1000;

const IS_DOUBTFUL = `EXISTS (
    SELECT FROM idempotency_phases AS p
     WHERE p.tenant = k.tenant AND p.principal = k.principal AND p.operation = k.operation AND p.key = k.key
       AND p.sends > p.not_executed)`;

// FOR UPDATE SKIP LOCKED: two workers flag a key once, and neither waits for an executor. The lock re-checks the row on its
// newest version, so a key that was taken over a moment ago stays as it is.
const FLAG_UNLISTED = `
WITH unlisted AS MATERIALIZED (
  SELECT tenant, principal, operation, key, next_attempt_at, ${IS_DOUBTFUL} AS is_doubtful
    FROM idempotency_keys AS k
   WHERE operation <> ALL ($1::text[]) AND ${hasNoWorker('$2')}),
chosen AS MATERIALIZED (
  SELECT tenant, principal, operation, key FROM idempotency_keys
   WHERE (tenant, principal, operation, key, next_attempt_at) IN (
           SELECT tenant, principal, operation, key, next_attempt_at FROM unlisted WHERE is_doubtful)
     AND next_attempt_at <= statement_timestamp() AND NOT needs_attention
   LIMIT ${MOST} FOR UPDATE SKIP LOCKED),
flagged AS (
  UPDATE idempotency_keys SET needs_attention = true
   WHERE (tenant, principal, operation, key) IN (SELECT tenant, principal, operation, key FROM chosen)
  RETURNING tenant, principal, operation, key),
noted AS (
  INSERT INTO idempotency_events (tenant, principal, operation, key, type, actor, detail)
  SELECT tenant, principal, operation, key, 'needs_attention', 'completer', jsonb_build_object('why', $3::text) FROM flagged)
SELECT operation, count(*)::int AS count, count(*) FILTER (WHERE is_doubtful)::int AS doubtful,
       (array_agg(key ORDER BY next_attempt_at))[1] AS "oldestKey"
  FROM unlisted GROUP BY operation`;

/** `Oversight.flagUnlisted`. */
export async function flagUnlisted(
  db: RawQueries,
  listed: readonly string[],
  { overdueMs, why }: { overdueMs: number; why: string },
): Promise<UnlistedKeys[]> {
  return await db.$queryRawUnsafe<UnlistedKeys[]>(FLAG_UNLISTED, listed, overdueMs, why);
}
