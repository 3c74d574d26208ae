import type { Unfinished } from '../leases.ts';
import type { RawQueries } from './client.ts';
import { IS_OPEN, isStuck } from './stuck.ts';

// For whoever asks every few seconds: the index of what is open holds these rows alone, so the millions that are settled
// cost nothing.
const UNFINISHED = `
SELECT operation, state, count(*)::int AS count, count(*) FILTER (WHERE ${isStuck('$1')})::int AS stuck,
       min(claimed_at) AS "oldestAt"
  FROM idempotency_keys WHERE ${IS_OPEN} AND settled_at IS NULL
 GROUP BY operation, state`;

/** `Leases.unfinished`. */
export async function unfinished(db: RawQueries, stuckAfterMs: number): Promise<Unfinished[]> {
  return await db.$queryRawUnsafe<Unfinished[]>(UNFINISHED, stuckAfterMs);
}
