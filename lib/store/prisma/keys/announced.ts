import type { AnnouncedEvent } from '../../oversight.ts';
import type { KeyRow } from '../../store.ts';
import type { RawQueries } from '../client.ts';
import { sqlState } from '../errors.ts';
import { timestamp } from '../wire/encoding.ts';

// Nothing names the key of an event but its derived key, which cannot be read backwards: so each event of that time is
// tried, by the step that `enqueue` gives it. Five minutes more on each side, because an event's time is by its
// process's clock, and a key's by the database's. The bound is for a key that has been open for days.
const ANNOUNCED = `
SELECT id::text AS "eventId", type, created_at AS "createdAt"
  FROM (SELECT * FROM outbox_events
         WHERE created_at >= $1::timestamptz - interval '5 min'
           AND created_at <= coalesce($2::timestamptz, statement_timestamp()) + interval '5 min'
         ORDER BY created_at DESC LIMIT 100000) AS near,
       convert_to('event ' || type || ' ' || aggregate, 'UTF8') AS step
 WHERE derived_key = encode(sha256($3::bytea || int4send(octet_length(step)) || step), 'hex')
 ORDER BY created_at, aggregate, sequence`;

/** `Oversight.announced`. */
export async function announced(
  db: RawQueries,
  { claimedAt, settledAt }: Pick<KeyRow, 'claimedAt' | 'settledAt'>,
  intent: Uint8Array,
): Promise<AnnouncedEvent[]> {
  try {
    return await db.$queryRawUnsafe<AnnouncedEvent[]>(
      ANNOUNCED,
      timestamp(claimedAt),
      settledAt && timestamp(settledAt),
      intent,
    );
  } catch (error) {
    if (sqlState(error) === '42P01') return []; // an app without an outbox has no such table
    throw error;
  }
}
