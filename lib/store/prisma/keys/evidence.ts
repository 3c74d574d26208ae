import type { KeyId } from '../../../core/scope.ts';
import type { RawQueries } from '../client.ts';
import { NOW } from './row.ts';

const IS_LIVE = 'coalesce(lease_until > clock_timestamp(), false)';

// The key's row first, as everybody takes it: an executor that is inside a transaction ends it before it is judged
// whether its lease is live. A live one is left as it is: its executor is about to know more than a message can say.
//
// An unknown key has no lease, only somebody who may be asking about it. The higher token prevents this: that one asked
// before it happened, and now writes that nothing is known and when to ask again, over what was heard meanwhile.
//
// Said once: a sender that repeats itself wakes the key again, but does not fill the table.
const EVIDENCE = `
WITH heard AS (
  UPDATE idempotency_keys
     SET next_attempt_at = CASE WHEN ${IS_LIVE} THEN next_attempt_at ELSE ${NOW} END,
         attempts = CASE WHEN ${IS_LIVE} THEN attempts ELSE 0 END,
         needs_attention = needs_attention AND ${IS_LIVE},
         fencing_token = CASE state WHEN 'unknown' THEN fencing_token + 1 ELSE fencing_token END
   WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4 AND state IN ('in_progress', 'unknown')
  RETURNING 1),
noted AS (
  INSERT INTO idempotency_events (tenant, principal, operation, key, type, actor, detail)
  SELECT $1::text, $2::text, $3::text, $4::text, 'evidence', $6::text, jsonb_build_object('said', $5::text) FROM heard
   WHERE NOT EXISTS (SELECT FROM idempotency_events
                      WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4 AND type = 'evidence'
                        AND actor = $6 AND detail ->> 'said' = $5))
SELECT 1 AS heard FROM heard`;

/** `Leases.recordEvidence`. Errors are the transaction's own: its caller has to know a deadlock from a lost connection. */
export async function recordEvidence(tx: RawQueries, id: KeyId, said: string, actor: string): Promise<boolean> {
  const { tenant, principal, operation, key } = id;
  const rows = await tx.$queryRawUnsafe<unknown[]>(EVIDENCE, tenant, principal, operation, key, said, actor);
  return rows.length > 0;
}
