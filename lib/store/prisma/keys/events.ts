import type { KeyId } from '../../../core/scope.ts';
import type { KeyEvent } from '../../store.ts';
import type { RawQueries } from '../client.ts';

// Once per key: a client that repeats itself must not fill the table. Two at once may both get in, which harms nobody.
const RECORD = `
INSERT INTO idempotency_events (tenant, principal, operation, key, type, actor, detail)
SELECT $1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::jsonb
 WHERE NOT EXISTS (SELECT FROM idempotency_events
                    WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4 AND type = $5 AND actor = $6)`;

// With what people did to it, which is kept apart: a timeline shows both.
const EVENTS = `
SELECT type, actor, detail, at
  FROM (SELECT id, type, actor, detail, at FROM idempotency_events
         WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4
        UNION ALL
        SELECT id, type, actor, detail, at FROM idempotency_audit
         WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4) AS happened
 ORDER BY at, id`;

export async function recordEvent(db: RawQueries, id: KeyId, event: Omit<KeyEvent, 'at'>): Promise<void> {
  const detail = event.detail && JSON.stringify(event.detail);
  await db.$queryRawUnsafe(RECORD, id.tenant, id.principal, id.operation, id.key, event.type, event.actor, detail);
}

export async function events(db: RawQueries, id: KeyId): Promise<KeyEvent[]> {
  return await db.$queryRawUnsafe<KeyEvent[]>(EVENTS, id.tenant, id.principal, id.operation, id.key);
}
