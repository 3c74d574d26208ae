import type { Taken } from '../../messages.ts';
import type { RawQueries } from '../client.ts';
import { NOW } from '../keys/row.ts';
import { heldBy, IS_HELD } from './delivered.ts';

// Each names the token, like `delivered.ts`: a relay that has been overtaken neither puts off nor gives up what another
// one is sending.
const POSTPONE = `
UPDATE outbox_deliveries
   SET next_attempt_at = clock_timestamp() + $4::float8 * interval '1 ms', last_error = $5::varchar
 WHERE ${IS_HELD}
RETURNING 1`;

const GIVE_UP = `
UPDATE outbox_deliveries
   SET state = $4::varchar, settled_at = clock_timestamp(), next_attempt_at = NULL, last_error = $5::varchar
 WHERE ${IS_HELD}
RETURNING 1`;

const GIVE_BACK = `
UPDATE outbox_deliveries SET next_attempt_at = ${NOW}, attempts = attempts - 1
 WHERE ${IS_HELD}
RETURNING 1`;

// The stop first, with a record of it, and whoever holds the event: a destination that says 410 means all of them. Two
// relays that hear it at once make one row; the second waits for the first and changes nothing.
const STOP = `
WITH stopped AS (
  INSERT INTO outbox_stops (destination, reason) VALUES ($1::varchar, $2::varchar)
  ON CONFLICT (destination) DO NOTHING
  RETURNING destination)
INSERT INTO message_events (box, event_id, peer, type, actor)
SELECT 'outbox', $3::varchar, destination, 'stopped', 'relay' FROM stopped`;

/** `OutboxStore.postpone`. */
export async function postpone(db: RawQueries, taken: Taken, pauseMs: number, error: string): Promise<boolean> {
  return (await db.$queryRawUnsafe<unknown[]>(POSTPONE, ...heldBy(taken), pauseMs, short(error))).length > 0;
}

/** `OutboxStore.giveUp`. */
export async function giveUp(db: RawQueries, taken: Taken, as: 'dead' | 'skipped', error: string): Promise<boolean> {
  return (await db.$queryRawUnsafe<unknown[]>(GIVE_UP, ...heldBy(taken), as, short(error))).length > 0;
}

/** `OutboxStore.giveBack`. */
export async function giveBack(db: RawQueries, taken: Taken, stop: string | null): Promise<boolean> {
  if (stop !== null) await db.$queryRawUnsafe(STOP, taken.destination, short(stop), taken.eventId);
  return (await db.$queryRawUnsafe<unknown[]>(GIVE_BACK, ...heldBy(taken))).length > 0;
}

/** As much as the column holds. NUL is no text for PostgreSQL. */
export function short(error: string): string {
  return Array.from(error.replaceAll('\0', '')).slice(0, 300).join('');
}
