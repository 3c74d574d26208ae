import type { Window } from '../../store.ts';
import type { RawQueries } from '../client.ts';
import { timestamp } from '../wire/encoding.ts';

/**
 * The condition, in SQL, under which a key without a row may be claimed at this very moment: it was not minted here, or
 * within the window by the server's clock.
 *
 * @param minted parameter of the time that the key carries
 * @param windowMs parameter of the window
 */
export function inWindow(minted: string, windowMs: string): string {
  return `(${minted}::timestamptz IS NULL
        OR (${minted}::timestamptz > clock_timestamp() - ${windowMs}::float8 * interval '1 ms'
            AND ${minted}::timestamptz <= clock_timestamp() + interval '5 min'))`;
}

const JUDGE = `
SELECT CASE WHEN $1::timestamptz <= clock_timestamp() - $2::float8 * interval '1 ms' THEN 'expired'
            WHEN $1::timestamptz > clock_timestamp() + interval '5 min' THEN 'early'
            ELSE 'open' END AS verdict`;

/** Whether a key that has no row may still be claimed, by the server's clock. */
export async function judgeWindow(db: RawQueries, window: Window): Promise<'open' | 'expired' | 'early'> {
  if (window.mintedAt === null) return 'open';
  const rows = await db.$queryRawUnsafe<{ verdict: 'open' | 'expired' | 'early' }[]>(
    JUDGE,
    timestamp(window.mintedAt),
    window.windowMs,
  );
  return rows[0]?.verdict ?? 'open';
}
