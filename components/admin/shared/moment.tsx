import { RelativeTime } from './relative-time.tsx';

/** A time in full, of UTC, as logs have it: to the millisecond, or to the second. */
export function utc(at: Date, precision: 'second' | 'ms' = 'ms'): string {
  return `${at
    .toISOString()
    .slice(0, precision === 'ms' ? 23 : 19)
    .replace('T', ' ')} UTC`;
}

interface Props {
  at: Date | null;
  now: number;
  precision?: 'second' | 'ms';
}

/** A time, and how far away. A dash for none. */
export function Moment({ at, now, precision }: Props) {
  if (!at) return '–';
  return (
    <>
      <time dateTime={at.toISOString()} className="tabular-nums">
        {utc(at, precision)}
      </time>{' '}
      <span className="text-muted">
        (<RelativeTime at={at} now={now} />)
      </span>
    </>
  );
}

/** The same in a table: to the second, and how far away below it, or beside it on a phone. */
export function ListedMoment({ at, now }: { at: Date; now: number }) {
  return (
    <span className="min-w-0 whitespace-normal">
      <time dateTime={at.toISOString()} className="block whitespace-nowrap tabular-nums max-sm:inline">
        {utc(at, 'second')}
      </time>{' '}
      <span className="text-muted">
        <RelativeTime at={at} now={now} />
      </span>
    </span>
  );
}

/** How long something took, or has taken so far: "66 ms", "1.5 s", "12 min", "3 h". */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${(ms / 1000).toFixed(1)} s`;
  const minutes = Math.round(ms / 60_000);
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}

/** True of a time that is known to the second: that of a claim which was written with its answer. */
export function isToSecond(at: Date): boolean {
  return at.getTime() % 1000 === 0;
}
