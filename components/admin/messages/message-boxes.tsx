import Link from 'next/link';
import type { Open, Stop } from 'oncekit/admin';
import { Badge } from '../../ui/badge.tsx';

const boxes = [
  { box: 'outbox', label: 'Outbox' },
  { box: 'inbox', label: 'Inbox' },
] as const;

interface Props {
  current: 'outbox' | 'inbox';
  open: Record<'outbox' | 'inbox', readonly Open[]>;
  stops: readonly Stop[];
}

/** The two halves of the page, each with what in it needs a person. */
export function MessageBoxes({ current, open, stops }: Props) {
  return (
    <nav aria-label="Boxes" className="mb-6">
      <ul className="flex gap-2">
        {boxes.map(({ box, label }) => {
          const dead = open[box].reduce((sum, { state, count }) => (state === 'dead' ? sum + count : sum), 0);
          return (
            <li key={box}>
              <Link
                href={`/admin/messages?box=${box}`}
                prefetch={false}
                aria-current={box === current ? 'page' : undefined}
                className="inline-flex min-h-11 items-center gap-2 rounded-lg border border-line bg-surface px-4 py-1.5 font-medium hover:border-strong-line aria-[current=page]:border-accent aria-[current=page]:ring-1 aria-[current=page]:ring-accent sm:min-h-10"
              >
                {label}
                {dead > 0 ? (
                  <Badge tone="bad">
                    {dead.toLocaleString('en-US')}
                    <span className="sr-only"> {dead === 1 ? 'dead letter' : 'dead letters'}</span>
                  </Badge>
                ) : null}
                {box === 'outbox' && stops.length > 0 ? <Badge tone="warn">{stops.length} stopped</Badge> : null}
              </Link>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}
