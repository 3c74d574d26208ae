import { setTimeout as sleep } from 'node:timers/promises';
import { db } from '../db.ts';

/** Every request of a browser asks, so none may wait for a database that does not answer. */
const PATIENCE_MS = 3000;

/**
 * Ends a session for good: copies of its cookie open nothing any more.
 *
 * @param until when its cookie would have expired by itself, in milliseconds since 1970; the row is swept away after that
 */
export async function endSession(id: string, until: number): Promise<void> {
  const key = endedKey(id);
  await db().rateLimit.upsert({ where: { key }, create: { key, points: 1, expire: BigInt(until) }, update: {} });
}

/**
 * Tells whether a session is over, whatever its cookie says: somebody has signed out of it; or its shopper has signed in since,
 * and this is a cookie from before that, or of another account.
 *
 * @throws what `isUnavailable` knows when the database does not say
 */
export async function hasEnded({ id, account }: { id: string; account?: string | undefined }): Promise<boolean> {
  const asked = db().$queryRaw<{ ended: boolean }[]>`
    SELECT EXISTS (SELECT FROM rate_limits WHERE key = ${endedKey(id)})
        OR EXISTS (SELECT FROM adopted_shoppers WHERE shopper = ${id} AND account IS DISTINCT FROM ${account ?? null}::text)
        AS ended`;
  const inTime = new AbortController();
  const tooLate = sleep(PATIENCE_MS, undefined, { signal: inTime.signal, ref: false }).then(() => {
    throw Object.assign(new Error('Nobody says whether this session is over.'), { code: 'P1008' });
  });
  tooLate.catch(() => {}); // called off below
  try {
    const [row] = await Promise.race([asked, tooLate]);
    return row?.ended ?? true;
  } finally {
    inTime.abort();
  }
}

/** Kept among the limits, whose rows are swept away when they expire. */
function endedKey(id: string): string {
  return `session-ended:${id}`;
}
