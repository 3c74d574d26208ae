import type { KeyDetail, KeyEvent } from 'oncekit/admin';
import { TitledPanel } from '../../ui/titled-panel.tsx';
import { duration, isToSecond, utc } from '../shared/moment.tsx';
import { RelativeTime } from '../shared/relative-time.tsx';
import { type Happening, happeningsOf } from './key-happenings.ts';

const dots: Record<Happening['tone'], string> = {
  good: 'bg-good',
  bad: 'bg-bad',
  warn: 'bg-warn',
  info: 'bg-info',
  muted: 'bg-strong-line',
};

/**
 * The history of a key, from its claim to its end: attempts, steps and people. Times to the millisecond, for logs; of a
 * row that was written once, with its answer, the claim is known to the second, and how long after it the rest was is not.
 */
export function KeyTimeline({ detail, now }: { detail: KeyDetail; now: number }) {
  const happenings = happeningsOf(detail);
  const start = detail.claimedAt.getTime();
  const isExact = !isToSecond(detail.claimedAt);
  return (
    <TitledPanel title="Timeline">
      <ol className="mt-4">
        {happenings.map(({ at, tone, words, by, event }, n) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two things may happen in one millisecond
          <li key={n} className="relative border-l border-line pb-5 pl-5 last:border-transparent last:pb-0">
            <span aria-hidden="true" className={`absolute top-1.5 -left-1.25 size-2.5 rounded-full ${dots[tone]}`} />
            <div className="flex flex-wrap items-baseline gap-x-3">
              <time dateTime={at.toISOString()} className="text-sm text-muted tabular-nums">
                {utc(at, isExact || at.getTime() !== start ? 'ms' : 'second')}
              </time>
              <span className="text-sm text-muted tabular-nums">{isExact ? offset(at.getTime() - start) : ''}</span>
              <span className="text-sm text-muted">
                <RelativeTime at={at} now={now} />
              </span>
            </div>
            <p className="break-words">
              {words}
              {by ? `, by ${by}` : ''}
              {particulars(event) ? <span className="text-muted"> ({particulars(event)})</span> : null}
            </p>
          </li>
        ))}
      </ol>
    </TitledPanel>
  );
}

/** The details of an event besides its kind, count and reason; an older or a newer app may have written other names. */
function particulars(event: KeyEvent | undefined): string {
  return Object.entries(event?.detail ?? {})
    .filter(([name]) => name !== 'times' && name !== 'last' && name !== 'why')
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
}

function offset(ms: number): string {
  return ms <= 0 ? '' : `+${duration(ms)}`;
}
