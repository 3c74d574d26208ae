import type { KeyId } from '../../core/scope.ts';
import type { Held } from '../leases.ts';
import type { KeyRow } from '../store.ts';
import type { RawQueries } from './client.ts';
import { holderOf, IS_HELD, stillHeld } from './hold.ts';
import { KEY_COLUMNS, type RawRow, toKeyRow } from './row.ts';

// The lease ends now, so that a client's retry need not wait for it; the completer comes after the pause.
const SUSPEND = `
UPDATE idempotency_keys
   SET lease_until = CASE state WHEN 'in_progress' THEN clock_timestamp() END,
       next_attempt_at = clock_timestamp() + $7::float8 * interval '1 ms'
 WHERE ${IS_HELD}
RETURNING true AS held`;

const UNKNOWN = `
UPDATE idempotency_keys
   SET state = 'unknown', lease_until = NULL, needs_attention = $8::boolean,
       next_attempt_at = clock_timestamp() + $7::float8 * interval '1 ms'
 WHERE ${IS_HELD}
RETURNING ${KEY_COLUMNS}`;

const GIVE_UP = `
UPDATE idempotency_keys
   SET lease_until = CASE state WHEN 'in_progress' THEN clock_timestamp() END, next_attempt_at = NULL,
       needs_attention = true
 WHERE ${IS_HELD}
RETURNING true AS held`;

const WAKE = `
UPDATE idempotency_keys SET next_attempt_at = clock_timestamp()
 WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4 AND state = 'unknown'`;

/** `Leases.suspend`. */
export async function suspend(db: RawQueries, held: Held, pauseMs: number): Promise<void> {
  stillHeld(await db.$queryRawUnsafe<unknown[]>(SUSPEND, ...holderOf(held), pauseMs), held);
}

/** `Leases.markUnknown`. */
export async function markUnknown(
  db: RawQueries,
  held: Held,
  { askAfterMs, needsAttention }: { askAfterMs: number | null; needsAttention: boolean },
): Promise<KeyRow> {
  const rows = await db.$queryRawUnsafe<RawRow[]>(UNKNOWN, ...holderOf(held), askAfterMs, needsAttention);
  return toKeyRow(stillHeld(rows, held));
}

/** `Leases.wake`. No token: it changes nothing but when somebody looks. */
export async function wake(db: RawQueries, { tenant, principal, operation, key }: KeyId): Promise<void> {
  await db.$queryRawUnsafe(WAKE, tenant, principal, operation, key);
}

/** `Leases.giveUp`. */
export async function giveUp(db: RawQueries, held: Held): Promise<void> {
  stillHeld(await db.$queryRawUnsafe<unknown[]>(GIVE_UP, ...holderOf(held)), held);
}
