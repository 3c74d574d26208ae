import type { RawQueries } from '../client.ts';
import { IS_UNANSWERED, OPEN_KEYS } from './list.ts';

// By the time of the statement, not `clock_timestamp()`: that one is volatile, and no index would bound the look by it.
// Bounded, oldest first by the index on expires_at, and SKIP LOCKED: several reapers share the work, and none waits for
// a row that an admin's action or a re-run holds. Whatever is not settled stays, however old (P5): its effect may still
// come, and only its row says so. So does what a person has not seen to. Business rows are nobody's business here.
//
// Deleted by the primary key: a `ctid` names a row of one partition only. State and expiry are said again, so that a row
// which is not as it was chosen stays, whatever the lock above is worth where this runs. PostgreSQL expects few elements
// of an array that it does not know, so it looks each key up in the index instead of reading the table once a batch.
//
// Steps go with their key by a trigger, too. Tables that `prisma db push` has made have none, and a key that comes again
// there would find the steps of the one before.
const IS_EXPIRED = `expires_at <= statement_timestamp() AND state IN ('succeeded', 'failed', 'abandoned')
     AND NOT needs_attention`;

export const REAP = `
WITH expired AS MATERIALIZED (
  SELECT tenant, principal, operation, key, expires_at FROM idempotency_keys
   WHERE expires_at >= coalesce(to_timestamp($2::float8), '-infinity') AND ${IS_EXPIRED}
   ORDER BY expires_at LIMIT $1::int
     FOR UPDATE SKIP LOCKED),
reaped AS (
  DELETE FROM idempotency_keys
   USING unnest(ARRAY(SELECT key FROM expired), ARRAY(SELECT operation FROM expired),
                ARRAY(SELECT principal FROM expired), ARRAY(SELECT tenant FROM expired))
         AS chosen(key, operation, principal, tenant)
   WHERE idempotency_keys.key = chosen.key AND idempotency_keys.operation = chosen.operation
     AND idempotency_keys.principal = chosen.principal AND idempotency_keys.tenant = chosen.tenant AND ${IS_EXPIRED}
  RETURNING idempotency_keys.tenant, idempotency_keys.principal, idempotency_keys.operation, idempotency_keys.key),
steps AS (
  DELETE FROM idempotency_phases
   USING reaped
   WHERE idempotency_phases.tenant = reaped.tenant AND idempotency_phases.principal = reaped.principal
     AND idempotency_phases.operation = reaped.operation AND idempotency_phases.key = reaped.key),
events AS (
  DELETE FROM idempotency_events
   WHERE (tenant, principal, operation, key) IN (SELECT tenant, principal, operation, key FROM reaped)
  RETURNING tenant, operation, key, type, detail),
followers AS (
  DELETE FROM idempotency_events AS told
   USING events
   WHERE events.type = 'followed' AND told.type = 'answered_by' AND told.tenant = events.tenant
     AND told.principal = events.detail ->> 'principal' AND told.operation = events.operation
     AND told.key = events.detail ->> 'key' AND told.detail ->> 'key' = events.key)
SELECT count(*)::int AS count, (SELECT date_part('epoch', max(expires_at)) FROM expired) AS reached FROM reaped`;

// Claims without an answer are in no index, and are not found once they are no longer among the newest. This puts them into one.
const FLAG_UNANSWERED = `
UPDATE idempotency_keys SET needs_attention = true
 WHERE ${IS_UNANSWERED} AND (key, operation, principal, tenant) IN (
   SELECT key, operation, principal, tenant FROM ${OPEN_KEYS} WHERE ${IS_UNANSWERED}
   UNION ALL
   SELECT key, operation, principal, tenant FROM idempotency_keys
    WHERE expires_at <= statement_timestamp() AND ${IS_UNANSWERED})`;

/**
 * How far a store's reaper has come. `end`: where the batch before has ended, and the next one starts, in seconds since 1970. The
 * entries of deleted rows stay in the index until a vacuum comes, and while any transaction is older than they are each must be
 * looked up; batches that all started with the first would take longer and longer. What a batch has passed over, because it was
 * locked or not settled, is looked at again when there is nothing left behind it.
 */
export interface Reaped {
  end?: number | undefined;
}

/** `Leases.reapKeys`. */
export async function reapKeys(db: RawQueries, limit: number, reaped: Reaped = {}): Promise<number> {
  const start = reaped.end;
  const count = await reapFrom(db, start, limit, reaped);
  if (count === limit) return count;
  const rest = start ? await reapFrom(db, undefined, limit - count, reaped) : 0;
  // Among the expired ones there is little left but what is not settled.
  if (count + rest < limit) await db.$queryRawUnsafe(FLAG_UNANSWERED);
  return count + rest;
}

type Batch = { count: number; reached: number | null };

async function reapFrom(db: RawQueries, start: number | undefined, limit: number, reaped: Reaped): Promise<number> {
  const [{ count, reached }] = await db.$queryRawUnsafe<[Batch]>(REAP, limit, start);
  reaped.end = count === limit && reached !== null ? reached : undefined;
  return count;
}
