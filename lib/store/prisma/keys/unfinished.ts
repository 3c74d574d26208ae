import type { Unfinished } from '../../leases.ts';
import type { RawQueries } from '../client.ts';
import { isStuck, UNFINISHED_KEYS } from './stuck.ts';

const UNFINISHED = `
SELECT operation, state, count(*)::int AS count, count(*) FILTER (WHERE ${isStuck('$1')})::int AS stuck,
       min(claimed_at) AS "oldestAt"
  FROM ${UNFINISHED_KEYS}
 GROUP BY operation, state`;

/** `Leases.unfinished`. */
export async function unfinished(db: RawQueries, stuckAfterMs: number): Promise<Unfinished[]> {
  return await db.$queryRawUnsafe<Unfinished[]>(UNFINISHED, stuckAfterMs);
}
