import { RelativeTime } from './relative-time.tsx';

/** A time to the millisecond, and how far away. A dash for none. */
export function Moment({ at, now }: { at: Date | null; now: number }) {
  if (!at) return '–';
  return (
    <>
      <span className="tabular-nums">{at.toISOString().replace('T', ' ')}</span>{' '}
      <span className="text-muted">
        (<RelativeTime at={at} now={now} />)
      </span>
    </>
  );
}
