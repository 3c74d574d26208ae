import type { KeyId } from '../../core/scope.ts';
import type { KeyEvent } from '../store.ts';
import type { RawQueries } from './client.ts';

const RECORD = `
INSERT INTO idempotency_events (tenant, principal, operation, key, type, actor, detail)
VALUES ($1, $2, $3, $4, $5, $6, $7::jsonb)`;

const EVENTS = `
SELECT type, actor, detail, at FROM idempotency_events
 WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4
 ORDER BY at, id`;

export async function recordEvent(db: RawQueries, id: KeyId, event: Omit<KeyEvent, 'at'>): Promise<void> {
  const detail = event.detail && JSON.stringify(event.detail);
  await db.$queryRawUnsafe(RECORD, id.tenant, id.principal, id.operation, id.key, event.type, event.actor, detail);
}

export async function events(db: RawQueries, id: KeyId): Promise<KeyEvent[]> {
  return await db.$queryRawUnsafe<KeyEvent[]>(EVENTS, id.tenant, id.principal, id.operation, id.key);
}
