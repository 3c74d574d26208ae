import type { KeyState } from '../../core/key-state.ts';
import type { RawQueries } from './client.ts';

const COUNT = 'SELECT state, count(*)::int AS count FROM idempotency_keys GROUP BY state';

/** How many rows there are in each state; a state without rows is left out. */
export async function countByState(db: RawQueries): Promise<Partial<Record<KeyState, number>>> {
  const rows = await db.$queryRawUnsafe<{ state: KeyState; count: number }[]>(COUNT);
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
}
