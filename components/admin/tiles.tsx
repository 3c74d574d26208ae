import Link from 'next/link';
import type { ReactNode } from 'react';

export interface Tile {
  /** For tests and styles: `data-count`. */
  name: string;
  label: string;
  count: number;
  note?: ReactNode;
  href: string;
  isChosen: boolean;
}

/** Counts; each leads to what it counts. */
export function Tiles({ label, tiles, className }: { label: string; tiles: readonly Tile[]; className: string }) {
  return (
    <ul className={`mb-6 grid gap-3 ${className}`} aria-label={label}>
      {tiles.map(({ name, label: words, count, note, href, isChosen }) => (
        <li key={name} className="max-sm:odd:last:col-span-2">
          <Link
            href={href}
            prefetch={false}
            aria-current={isChosen ? 'true' : undefined}
            className="block rounded-xl border border-line bg-surface px-4 py-3 hover:border-strong-line aria-current:border-accent aria-current:ring-1 aria-current:ring-accent"
          >
            <span className="block text-2xl font-semibold tabular-nums" data-count={name}>
              {count.toLocaleString('en-US')}
            </span>
            <span className="text-sm text-muted">{words}</span>
            {note ? <span className="block text-sm text-muted">{note}</span> : null}
          </Link>
        </li>
      ))}
    </ul>
  );
}
