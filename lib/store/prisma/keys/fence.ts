import type { Fence } from '../../store.ts';
import type { RawQueries } from '../client.ts';
import { timestamp } from '../wire/encoding.ts';
import { drawTicket, inWindow, lockTimeout, ticketOf } from './claim.ts';

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

/** Inserts the tombstone. False when a row or another's claim is in the way, or the key is outside its window. */
export async function fence(tx: RawQueries, fence: Fence): Promise<boolean> {
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
