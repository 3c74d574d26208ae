import type { KeyState } from 'oncekit';
import type { OutcomeBucket } from 'oncekit/admin';

export const STEP_MS = 600_000;

/**
 * The parts of a column, from the ground up: in the words of the states, where a call is one of a key that ended so.
 * `keys`: the keys that it leads to, of those that were claimed then; one that was unknown may have ended since. None where
 * its calls are of keys that may be older.
 */
export const series = [
  { name: 'succeeded', label: 'succeeded', fill: 'fill-good', dot: 'bg-good', keys: { state: 'succeeded' } },
  { name: 'failed', label: 'failed', fill: 'fill-bad', dot: 'bg-bad', keys: { state: 'failed' } },
  { name: 'unknown', label: 'unknown', fill: 'fill-warn', dot: 'bg-warn', keys: {} },
  { name: 'replayed', label: 'replayed', fill: 'fill-info', dot: 'bg-info', keys: undefined },
  { name: 'refused', label: 'refused', fill: 'fill-strong-line', dot: 'bg-strong-line', keys: undefined },
  { name: 'error', label: 'broken off', fill: 'fill-ink', dot: 'bg-ink', keys: undefined },
] as const satisfies {
  name: string;
  label: string;
  fill: string;
  dot: string;
  keys: { state?: KeyState } | undefined;
}[];

export type SeriesName = (typeof series)[number]['name'];

const seriesOf: Record<OutcomeBucket['outcome'], SeriesName> = {
  created: 'succeeded',
  failed: 'failed',
  unknown: 'unknown',
  replayed: 'replayed',
  in_flight: 'refused',
  mismatch: 'refused',
  expired: 'refused',
  error: 'error',
};

export interface Column {
  at: Date;
  counts: Record<SeriesName, number>;
  total: number;
}

/** The tallies as columns of ten minutes, from `since` to now, also those in which nothing was called. */
export function columnsOf(buckets: readonly OutcomeBucket[], since: Date, now: number): Column[] {
  const first = Math.floor(since.getTime() / STEP_MS);
  const length = Math.floor(now / STEP_MS) - first + 1;
  const columns = Array.from({ length }, (_, n): Column => {
    const counts = { succeeded: 0, failed: 0, unknown: 0, replayed: 0, refused: 0, error: 0 };
    return { at: new Date((first + n) * STEP_MS), counts, total: 0 };
  });
  for (const { at, outcome, count } of buckets) {
    const column = columns[Math.floor(at.getTime() / STEP_MS) - first];
    const name: SeriesName | undefined = seriesOf[outcome]; // a newer version may have counted another
    if (!column || !name) continue;
    column.counts[name] += count;
    column.total += count;
  }
  return columns;
}
