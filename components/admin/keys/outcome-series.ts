import type { OutcomeBucket } from 'oncekit/admin';

const STEP_MS = 600_000;

/** What the chart tells apart, from the ground up. */
export const series = [
  { name: 'executed', label: 'Executed', of: ['created'], fill: 'fill-good', dot: 'bg-good' },
  { name: 'refused', label: 'Refused', of: ['failed', 'expired'], fill: 'fill-strong-line', dot: 'bg-strong-line' },
  {
    name: 'prevented',
    label: 'Duplicates prevented',
    of: ['replayed', 'in_flight', 'mismatch'],
    fill: 'fill-info',
    dot: 'bg-info',
  },
  { name: 'unknown', label: 'Not known or failed', of: ['unknown', 'error'], fill: 'fill-bad', dot: 'bg-bad' },
] as const satisfies readonly { of: readonly OutcomeBucket['outcome'][]; [more: string]: unknown }[];

export type SeriesName = (typeof series)[number]['name'];

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
    const found = series.find(({ of }) => (of as readonly string[]).includes(outcome));
    if (!column || !found) continue;
    column.counts[found.name] += count;
    column.total += count;
  }
  return columns;
}
