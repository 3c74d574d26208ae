import type { AuditFilter, AuditPage, AuditRecord, NewAuditRecord } from '../../oversight.ts';
import type { RawQueries } from '../client.ts';

/** The beginning of a record of what a person did: part of the statement that does it, so that neither is there alone. */
export const AUDIT = 'INSERT INTO idempotency_audit (tenant, principal, operation, key, type, actor, detail)';

const RECORD = `
${AUDIT}
VALUES ($1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::jsonb)`;

const RECORDS = `
SELECT at, actor, type, tenant, principal, operation, key, detail FROM idempotency_audit
 WHERE ($1::text IS NULL OR tenant = $1) AND ($2::text IS NULL OR principal = $2)
   AND ($3::text IS NULL OR operation = $3) AND ($4::text IS NULL OR key = $4)
   AND ($5::text IS NULL OR actor = $5) AND ($6::text IS NULL OR type = $6)
 ORDER BY at DESC, id DESC LIMIT $7::int + 1 OFFSET $8::int`;

// By the time of the statement: see `reap.ts`. A record that is younger than 30 days, the database keeps. Without a lock, which
// needs the right to UPDATE: of two reapers at once the second waits in its DELETE, and finds the rows gone.
const REAP_AUDIT = `
WITH old AS MATERIALIZED (
  SELECT id FROM idempotency_audit
   WHERE at <= statement_timestamp() - $1::float8 * interval '1 ms'
   ORDER BY at LIMIT $2::int),
reaped AS (
  DELETE FROM idempotency_audit WHERE id IN (SELECT id FROM old) RETURNING 1)
SELECT count(*)::int AS count FROM reaped`;

/** `Oversight.record`. */
export async function record(db: RawQueries, { type, actor, detail, ...of }: NewAuditRecord): Promise<void> {
  const { tenant = '', principal = '', operation = '', key = '' } = of;
  const json = detail && JSON.stringify(detail);
  await db.$queryRawUnsafe(RECORD, tenant, principal, operation, key, type, actor, json ?? null);
}

/** `Oversight.audit`. */
export async function audit(db: RawQueries, filter: AuditFilter): Promise<AuditPage> {
  const { tenant, principal, operation, key, actor, type, limit, offset } = filter;
  const given = [tenant, principal, operation, key, actor, type].map((value) => value ?? null);
  const rows = await db.$queryRawUnsafe<AuditRecord[]>(RECORDS, ...given, limit, offset);
  return { rows: rows.slice(0, limit), hasMore: rows.length > limit };
}

/** `Oversight.reapAudit`. */
export async function reapAudit(db: RawQueries, retentionMs: number, limit: number): Promise<number> {
  const rows = await db.$queryRawUnsafe<{ count: number }[]>(REAP_AUDIT, retentionMs, limit);
  return rows[0]?.count ?? 0;
}
