import type { KeyId } from '../../../core/scope.ts';
import type { Held, PutOff } from '../../leases.ts';
import type { KeyRow } from '../../store.ts';
import type { RawQueries } from '../client.ts';
import { holderOf, IS_HELD, stillHeld } from './lease.ts';
import { KEY_COLUMNS, NOW, type RawRow, toKeyRow } from './row.ts';

// The flag stays until the key settles or a person has looked: the completer goes on meanwhile. A key that the completer
// is not to look at again is always flagged, or nobody would ever see it.
const FLAGGED = `needs_attention = needs_attention OR $7::float8 IS NULL
         OR claimed_at <= clock_timestamp() - $8::float8 * interval '1 ms'`;

// The lease ends now, so that a client's retry need not wait for it; the completer comes after the pause. The higher token
// prevents this: a write that was under way when the run was let go (a captured value that came late, a renewal) arrives
// behind this one, and leases the key to nobody.
const SUSPEND = `
UPDATE idempotency_keys
   SET fencing_token = fencing_token + 1, lease_until = CASE state WHEN 'in_progress' THEN ${NOW} END,
       next_attempt_at = clock_timestamp() + $7::float8 * interval '1 ms', ${FLAGGED}
 WHERE ${IS_HELD}
RETURNING needs_attention AS "needsAttention"`;

const POSTPONE = `
UPDATE idempotency_keys
   SET next_attempt_at = clock_timestamp() + $7::float8 * interval '1 ms', ${FLAGGED}
 WHERE ${IS_HELD}
RETURNING needs_attention AS "needsAttention"`;

const UNKNOWN = `
UPDATE idempotency_keys
   SET state = 'unknown', lease_until = NULL,
       next_attempt_at = clock_timestamp() + $7::float8 * interval '1 ms', ${FLAGGED}
 WHERE ${IS_HELD}
RETURNING ${KEY_COLUMNS}`;

const WAKE = `
UPDATE idempotency_keys SET next_attempt_at = ${NOW}
 WHERE tenant = $1 AND principal = $2 AND operation = $3 AND key = $4 AND state = 'unknown'`;

/** `Leases.suspend`. */
export async function suspend(db: RawQueries, held: Held, put: PutOff): Promise<boolean> {
  return await putOff(db, SUSPEND, held, put);
}

/** `Leases.postpone`. */
export async function postpone(db: RawQueries, held: Held, put: PutOff): Promise<boolean> {
  return await putOff(db, POSTPONE, held, put);
}

async function putOff(db: RawQueries, statement: string, held: Held, put: PutOff): Promise<boolean> {
  const values = [...holderOf(held), put.pauseMs, put.attentionAfterMs];
  return stillHeld(await db.$queryRawUnsafe<{ needsAttention: boolean }[]>(statement, ...values), held).needsAttention;
}

/** `Leases.markUnknown`. */
export async function markUnknown(
  db: RawQueries,
  held: Held,
  { askAfterMs, attentionAfterMs }: { askAfterMs: number | null; attentionAfterMs: number },
): Promise<KeyRow> {
  const rows = await db.$queryRawUnsafe<RawRow[]>(UNKNOWN, ...holderOf(held), askAfterMs, attentionAfterMs);
  return toKeyRow(stillHeld(rows, held));
}

/** `Leases.wake`. No token: it changes nothing but when somebody looks. */
export async function wake(db: RawQueries, { tenant, principal, operation, key }: KeyId): Promise<void> {
  await db.$queryRawUnsafe(WAKE, tenant, principal, operation, key);
}
