import type { OutcomeBucket } from 'oncekit/admin';

const STEP_MS = 600_000;

/** The parts of a column, from the ground up. */
export const series = [
  { name: 'executed', label: 'Executed', fill: 'fill-good', dot: 'bg-good' },
  { name: 'refused', label: 'Refused', fill: 'fill-strong-line', dot: 'bg-strong-line' },
  { name: 'prevented', label: 'Duplicates prevented', fill: 'fill-info', dot: 'bg-info' },
  { name: 'unknown', label: 'Not known or failed', fill: 'fill-bad', dot: 'bg-bad' },
] as const;

export type SeriesName = (typeof series)[number]['name'];

const seriesOf: Record<OutcomeBucket['outcome'], SeriesName> = {
  created: 'executed',
  failed: 'refused',
  expired: 'refused',
  replayed: 'prevented',
  in_flight: 'prevented',
  mismatch: 'prevented',
  unknown: 'unknown',
  error: 'unknown',
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
    const counts = { executed: 0, refused: 0, prevented: 0, unknown: 0 };
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
