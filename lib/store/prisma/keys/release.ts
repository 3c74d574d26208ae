import type { Operated, SeenRow } from '../../oversight.ts';
import type { RawQueries } from '../client.ts';
import { AUDIT } from './audit.ts';
import { IS_KEY, NOW } from './row.ts';

// What an executor may still do meanwhile, and what each is met with:
//
// - It renews its lease, or begins a call: then the row is no longer of the version by which the steps were judged, which
//   are read as of the statement's beginning. `xmin` names that version; the lock looks at the newest.
// - It is inside a transaction, longer than its lease lasts: it is slow, not dead. It holds the row, and SKIP LOCKED
//   passes it over. So of two clicks at once one gets the row.
// - Without a lease it ran in one transaction, which is over: otherwise the row would not be seen.
// - It comes back later: the higher token lets none of its writes through.
const RELEASE = `
WITH seen AS MATERIALIZED (
  SELECT xmin AS version, state = 'in_progress' AND fencing_token = $5::int AS is_same,
         coalesce(lease_until <= clock_timestamp(), true)
         AND NOT EXISTS (
           SELECT FROM idempotency_phases
            WHERE ${IS_KEY} AND state = 'started' AND sends > not_executed
              AND coalesce(keys_until <= clock_timestamp(), true)) AS is_safe
    FROM idempotency_keys WHERE ${IS_KEY}),
free AS MATERIALIZED (
  SELECT 1 FROM idempotency_keys
   WHERE ${IS_KEY} AND xmin = (SELECT version FROM seen WHERE is_same AND is_safe)
     FOR NO KEY UPDATE SKIP LOCKED),
released AS (
  UPDATE idempotency_keys
     SET fencing_token = fencing_token + 1, lease_until = ${NOW}, next_attempt_at = ${NOW},
         attempts = 0, needs_attention = false
    FROM free
   WHERE ${IS_KEY}
  RETURNING 1),
audited AS (
  ${AUDIT}
  SELECT $1::text, $2::text, $3::text, $4::text, 'released', $6::text, NULL FROM released)
SELECT CASE WHEN EXISTS (SELECT FROM released) THEN 'recorded'
            WHEN EXISTS (SELECT FROM seen WHERE is_same) THEN 'refused'
            ELSE 'changed' END AS operated`;

/** `Oversight.release`. */
export async function release(db: RawQueries, id: SeenRow, actor: string): Promise<Operated> {
  const { tenant, principal, operation, key, fencingToken } = id;
  const values = [tenant, principal, operation, key, fencingToken, actor];
  const [row] = await db.$queryRawUnsafe<[{ operated: Operated }]>(RELEASE, ...values);
  return row.operated;
}
