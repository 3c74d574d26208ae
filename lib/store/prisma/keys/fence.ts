import type { KeyId } from '../../../core/scope.ts';
import type { Fence, Fenced, Probed } from '../../store.ts';
import { countRows, type PrismaClientLike, type RawQueries } from '../client.ts';
import { isLockTimeout } from '../errors.ts';
import { QUESTION_MS } from '../timeouts.ts';
import { timestamp } from '../wire/encoding.ts';
import { inWindow, judgeWindow } from './claim.ts';
import { record } from './operate.ts';
import { find, keyValues, recordEvent } from './read.ts';
import { drawTicket, lockTimeout, ticketOf } from './ticket.ts';

// Both locks are shared, so that two who look never meet, and given back at once: it is alone in its transaction. Behind the
// number of a key's ticket with all its bits turned is a probe whose row stands, and so no claim's.
const LOOK = `
SELECT pg_try_advisory_xact_lock_shared($1::bigint) AS "isFree",
       NOT pg_try_advisory_xact_lock_shared(~$1::bigint) AS "isProbed"`;

// It draws no ticket, so that a claim beside it does not take the probe for a rival: it waits for this row's end, a
// moment away, and the server brings that about where the probe's process stands still. What the insert itself waits for is
// another probe, or a claim that drew no ticket, such as an older version's.
const PROBE = `
WITH bounded AS MATERIALIZED (SELECT set_config('lock_timeout', '50ms', true),
                                     set_config('idle_in_transaction_session_timeout', '1s', true))
INSERT INTO idempotency_keys (tenant, principal, operation, key, state, settled_at, expires_at)
SELECT $1, $2, $3, $4, 'abandoned', now(), now() + interval '1 h' FROM bounded
ON CONFLICT (tenant, principal, operation, key) DO NOTHING
RETURNING pg_advisory_xact_lock(~$5::bigint) IS NOT NULL AS inserted`;

/** Ends the probing transaction without a trace. */
class Undo extends Error {}

/**
 * Finds what stands in the way of a key, by an insert that is always rolled back. One that waits in vain looks again, twice
 * at most: it may have waited for another probe.
 */
export async function probe(db: PrismaClientLike, id: KeyId, again = 2): Promise<Probed> {
  const row = await find(db, id);
  if (row) return { kind: 'existing', row };
  const [seen] = await db.$queryRawUnsafe<{ isFree: boolean; isProbed: boolean }[]>(LOOK, ticketOf(id));
  if (!seen?.isFree) return { kind: 'locked' };
  if (seen.isProbed) return { kind: 'absent' };
  try {
    const rival = await db.$transaction(
      async (tx: RawQueries) => {
        if ((await countRows(tx, PROBE, ...keyValues(id), ticketOf(id))) > 0) throw new Undo();
        return await find(tx, id);
      },
      // The next statement must see rows that were committed while the insert waited.
      { isolationLevel: 'ReadCommitted' },
    );
    return rival ? { kind: 'existing', row: rival } : { kind: 'absent' };
  } catch (error) {
    if (error instanceof Undo) return { kind: 'absent' };
    if (!isLockTimeout(error)) throw error;
    return again > 0 ? await probe(db, id, again - 1) : { kind: 'locked' };
  }
}

// The same insert against the same unique index as a claim, so that exactly one of the two gets in, whichever order
// they come in. `lock_timeout` ends with the transaction, which has nothing else to do.
const FENCE = `
WITH bounded AS MATERIALIZED (SELECT set_config('lock_timeout', $7, true)),
     ticket AS MATERIALIZED (SELECT ${drawTicket('$9', '$10')} AS drawn FROM bounded)
INSERT INTO idempotency_keys (tenant, principal, operation, key, state, minted_at, claimed_at, settled_at, expires_at)
SELECT $1, $2, $3, $4, 'abandoned', $5::timestamptz, clock_timestamp(), clock_timestamp(),
       greatest(clock_timestamp(), $5::timestamptz) + $8::float8 * interval '1 ms'
  FROM ticket
 WHERE drawn
   AND ${inWindow('$5', '$6')}
ON CONFLICT (tenant, principal, operation, key) DO NOTHING
RETURNING state`;

/** Inserts the tombstone, with a record of who did it: see `Store.fence`. */
export async function fence(db: PrismaClientLike, wanted: Fence): Promise<Fenced> {
  const how = { timeout: wanted.waitMs + QUESTION_MS, isolationLevel: 'ReadCommitted' } as const;
  const fenced = db.$transaction((tx: RawQueries) => fenceIn(tx, wanted), how);
  return await fenced.catch((error) => {
    if (isLockTimeout(error)) return { kind: 'locked' };
    throw error;
  });
}

async function fenceIn(tx: RawQueries, wanted: Fence): Promise<Fenced> {
  const { mintedAt, windowMs, waitMs, retentionMs } = wanted;
  const window = [mintedAt && timestamp(mintedAt), windowMs];
  const values = [...keyValues(wanted), ...window, lockTimeout(waitMs), retentionMs, ticketOf(wanted), waitMs > 0];
  if ((await countRows(tx, FENCE, ...values)) > 0) {
    const fenced = { type: 'fenced', detail: null } as const;
    // A person's act outlives the tombstone; a client's is a note on it.
    if (wanted.actor !== undefined) await record(tx, { ...wanted, ...fenced, actor: wanted.actor });
    else await recordEvent(tx, wanted, { ...fenced, actor: 'client' });
    return { kind: 'fenced' };
  }
  const row = await find(tx, wanted);
  if (row) return { kind: 'existing', row };
  const verdict = await judgeWindow(tx, wanted);
  // Another's claim; or a row that was in the way and has just been reaped: nothing is proven, so the caller asks again.
  return verdict === 'open' ? { kind: 'locked' } : { kind: verdict };
}
