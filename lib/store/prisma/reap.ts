import type { RawQueries } from './client.ts';

// By the time of the statement, not `clock_timestamp()`: that one is volatile, and no index would bound the look by it.
// Bounded, oldest first by the index on expires_at, and SKIP LOCKED: several reapers share the work, and none waits for
// a row that an admin's action or a re-run holds. Whatever is not settled stays, however old (P5): its effect may still
// come, and only its row says so. Steps go with their key. Business rows are nobody's business here.
//
// Deleted where it was found: the lock keeps the row at its place until the statement ends, so a second look through
// the key's index would tell nothing. What its holder has changed in between is not there for the statement, and stays.
const REAP = `
WITH expired AS MATERIALIZED (
  SELECT ctid, expires_at FROM idempotency_keys
   WHERE expires_at >= coalesce($2::timestamptz, '-infinity') AND expires_at <= statement_timestamp()
     AND state IN ('succeeded', 'failed', 'abandoned')
   ORDER BY expires_at LIMIT $1::int
     FOR UPDATE SKIP LOCKED),
reaped AS (
  DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY(SELECT ctid FROM expired))
  RETURNING tenant, principal, operation, key),
events AS (
  DELETE FROM idempotency_events
   WHERE (tenant, principal, operation, key) IN (SELECT tenant, principal, operation, key FROM reaped))
SELECT count(*)::int AS count, (SELECT max(expires_at) FROM expired) AS reached FROM reaped`;

/**
 * Where the batch before has ended: the next one starts there. The entries of deleted rows stay in the index until a
 * vacuum comes, and while any transaction is older than they are each must be looked up; batches that all started with
 * the first would take longer and longer. What a batch has passed over, because it was locked or not settled, is looked
 * at again when there is nothing left behind it.
 */
const ends = new WeakMap<RawQueries, Date>();

/** `Leases.reap`. */
export async function reap(db: RawQueries, limit: number): Promise<number> {
  const start = ends.get(db);
  const count = await reapFrom(db, start ?? null, limit);
  return count < limit && start ? count + (await reapFrom(db, null, limit - count)) : count;
}

async function reapFrom(db: RawQueries, start: Date | null, limit: number): Promise<number> {
  const rows = await db.$queryRawUnsafe<{ count: number; reached: Date | null }[]>(REAP, limit, start);
  const { count, reached } = rows[0] ?? { count: 0, reached: null };
  if (count === limit && reached) ends.set(db, reached);
  else ends.delete(db);
  return count;
}
