import { type Known, LANES, type Lane, type Timeline, type Tone, timelineOf } from './timeline-model.ts';

const WIDTH = 720;
const LEFT = 84;
const RIGHT = WIDTH - 12;
const LANE = 34;
const TOP = 10;
const HEIGHT = TOP + LANES.length * LANE + 24;
/** A character of the small type, roughly: a label is shown where it fits. */
const CHARACTER = 6.5;

const y = (lane: Lane) => TOP + LANES.indexOf(lane) * LANE + LANE / 2;

const fills: Record<Tone, string> = {
  info: 'fill-info-surface stroke-info',
  good: 'fill-good-surface stroke-good',
  bad: 'fill-bad-surface stroke-bad',
  warn: 'fill-warn-surface stroke-warn',
};
const inks: Record<Tone, string> = { info: 'fill-info', good: 'fill-good', bad: 'fill-bad', warn: 'fill-warn' };

/** One column's run from browser to gateway, drawn from what each of them has written down; and the same in words. */
export function TimelineView({ title, ...known }: Known & { title: string }) {
  const timeline = timelineOf(known);
  return (
    <figure className="mt-4">
      <figcaption className="mb-1 font-medium">{title}</figcaption>
      {timeline ? (
        <>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
          <section aria-label={`${title}, drawn`} tabIndex={0} className="overflow-x-auto rounded-lg bg-paper">
            <Drawing timeline={timeline} hasKey={known.side === 'with'} />
          </section>
          <Words timeline={timeline} title={title} />
        </>
      ) : (
        <p className="text-sm text-muted">Nothing has happened yet.</p>
      )}
    </figure>
  );
}

function Drawing({ timeline, hasKey }: { timeline: Timeline; hasKey: boolean }) {
  const { from, to, bars, lines, marks } = timeline;
  const x = (at: number) => LEFT + ((at - from) / (to - from)) * (RIGHT - LEFT);
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} className="w-full min-w-160 text-xs" aria-hidden="true">
      {LANES.map((lane) => (
        <g key={lane}>
          <line x1={LEFT} x2={RIGHT} y1={y(lane)} y2={y(lane)} className="stroke-line" strokeDasharray="2 4" />
          <text x={8} y={y(lane) + 4} className="fill-muted">
            {lane}
          </text>
        </g>
      ))}
      {hasKey ? null : (
        <text x={LEFT + 4} y={y('key row') - 5} className="fill-muted">
          no key
        </text>
      )}
      <Axis from={from} to={to} x={x} />
      {lines.map(({ from: a, to: b, isQuestion }) => (
        <line
          key={`${a.lane}${a.at}${b.lane}${b.at}`}
          x1={x(a.at)}
          y1={y(a.lane)}
          x2={x(b.at)}
          y2={y(b.lane)}
          className={isQuestion ? 'stroke-strong-line' : 'stroke-ink'}
          strokeWidth={isQuestion ? 1 : 1.5}
          strokeDasharray={isQuestion ? '3 3' : undefined}
        />
      ))}
      {bars.map(({ lane, from: a, to: b, tone, label }) => {
        const width = Math.max(2, x(b) - x(a));
        return (
          <g key={`${lane}${a}${label}`}>
            <rect x={x(a)} y={y(lane) - 8} width={width} height={16} rx={3} className={fills[tone]} />
            {width > label.length * CHARACTER + 10 ? (
              <text x={x(a) + 5} y={y(lane) + 4} className={inks[tone]}>
                {label}
              </text>
            ) : null}
          </g>
        );
      })}
      {marks.map(({ lane, at, shape }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two clicks may fall into one millisecond
        <g key={index} transform={`translate(${x(at)} ${y(lane)})`}>
          {SHAPES[shape]}
        </g>
      ))}
    </svg>
  );
}

const SHAPES = {
  click: <circle r={4.5} className="fill-ink stroke-paper" />,
  cut: <path d="M-5-5 5 5M-5 5 5-5" className="stroke-bad" strokeWidth={2.5} />,
  row: <rect x={-6} y={-6} width={12} height={12} rx={2} className="fill-accent stroke-paper" />,
  charge: <path d="M0-8 8 0 0 8-8 0Z" className="fill-accent stroke-paper" />,
};

function Axis({ from, to, x }: { from: number; to: number; x: (at: number) => number }) {
  const step = stepFor(to - from);
  const ticks = Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => index * step);
  return ticks.map((ms) => (
    <g key={ms}>
      <line x1={x(from + ms)} x2={x(from + ms)} y1={TOP} y2={HEIGHT - 22} className="stroke-line" strokeWidth={0.5} />
      <text
        x={x(from + ms)}
        y={HEIGHT - 8}
        textAnchor={ms === 0 ? 'start' : x(from + ms) > RIGHT - 24 ? 'end' : 'middle'}
        className="fill-muted"
      >
        {step < 1000 ? `${ms} ms` : `${ms / 1000} s`}
      </text>
    </g>
  ));
}

/** Round, and at most seven of them. */
function stepFor(ms: number): number {
  return [50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000].find((step) => ms / step <= 7) ?? 60_000;
}

function Words({ timeline: { from, words }, title }: { timeline: Timeline; title: string }) {
  return (
    <details className="mt-1 text-sm">
      <summary className="inline-block min-h-6 cursor-pointer py-1 text-muted underline underline-offset-2">
        {title}, in words
      </summary>
      <ol className="mt-1 grid gap-0.5 tabular-nums">
        {words.map(({ at, lane, text }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two things may happen in one millisecond
          <li key={index} className="grid grid-cols-[4.5rem_5.5rem_1fr]">
            <span className="text-muted">{Math.round(at - from).toLocaleString('en-US')} ms</span>
            <span className="text-muted">{lane}</span>
            <span>{text}</span>
          </li>
        ))}
      </ol>
    </details>
  );
}
