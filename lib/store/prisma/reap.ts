import type { RawQueries } from './client.ts';

// By the time of the statement, not `clock_timestamp()`: that one is volatile, and no index would bound the look by it.
// Bounded, oldest first by the index on expires_at, and SKIP LOCKED: several reapers share the work, and none waits for
// a row that an admin's action or a re-run holds. Whatever is not settled stays, however old (P5): its effect may still
// come, and only its row says so. Steps go with their key. Business rows are nobody's business here.
const REAP = `
WITH expired AS MATERIALIZED (
  SELECT tenant, principal, operation, key FROM idempotency_keys
   WHERE expires_at <= statement_timestamp() AND state IN ('succeeded', 'failed', 'abandoned')
   ORDER BY expires_at LIMIT $1::int
     FOR UPDATE SKIP LOCKED),
reaped AS (
  DELETE FROM idempotency_keys
   WHERE (tenant, principal, operation, key) IN (SELECT tenant, principal, operation, key FROM expired)
  RETURNING tenant, principal, operation, key),
events AS (
  DELETE FROM idempotency_events
   WHERE (tenant, principal, operation, key) IN (SELECT tenant, principal, operation, key FROM reaped))
SELECT count(*)::int AS count FROM reaped`;

/** `Leases.reap`. */
export async function reap(db: RawQueries, limit: number): Promise<number> {
  const rows = await db.$queryRawUnsafe<{ count: number }[]>(REAP, limit);
  return rows[0]?.count ?? 0;
}
