import type { Fence, Fenced } from '../../store.ts';
import type { PrismaClientLike, RawQueries } from '../client.ts';
import { isLockTimeout } from '../errors.ts';
import { QUESTION_MS } from '../timeouts.ts';
import { timestamp } from '../wire/encoding.ts';
import { record } from './audit.ts';
import { drawTicket, inWindow, judgeWindow, lockTimeout, ticketOf } from './claim.ts';
import { find, recordEvent } from './read.ts';

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
  try {
    return await db.$transaction((tx: RawQueries) => fenceIn(tx, wanted), {
      timeout: wanted.waitMs + QUESTION_MS,
      isolationLevel: 'ReadCommitted',
    });
  } catch (error) {
    if (isLockTimeout(error)) return { kind: 'locked' };
    throw error;
  }
}

async function fenceIn(tx: RawQueries, wanted: Fence): Promise<Fenced> {
  if (await insertTombstone(tx, wanted)) {
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

/** False where a row or another's claim is in the way, or the key is outside its window. */
async function insertTombstone(tx: RawQueries, fence: Fence): Promise<boolean> {
  const rows = await tx.$queryRawUnsafe<unknown[]>(
    FENCE,
    fence.tenant,
    fence.principal,
    fence.operation,
    fence.key,
    fence.mintedAt && timestamp(fence.mintedAt),
    fence.windowMs,
    lockTimeout(fence.waitMs),
    fence.retentionMs,
    ticketOf(fence),
    fence.waitMs > 0,
  );
  return rows.length > 0;
}
