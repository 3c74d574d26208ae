import Link from 'next/link';
import type { ReactNode } from 'react';

export interface Tile {
  /** For tests and styles: `data-count`. */
  name: string;
  label: string;
  count: number;
  note?: ReactNode;
  /** The address of the list that it counts; none where there is no list. */
  href?: string;
  isChosen?: boolean;
  /** Somebody should look at it, where it counts any. */
  isAlarm?: boolean;
}

/** Counts; each leads to what it counts. */
export function Tiles({ label, tiles, className }: { label: string; tiles: readonly Tile[]; className: string }) {
  return (
    <ul className={`mb-6 grid gap-3 ${className}`} aria-label={label}>
      {tiles.map((tile) => (
        <li key={tile.name} className="max-sm:odd:last:col-span-2">
          <Frame {...tile} />
        </li>
      ))}
    </ul>
  );
}

const box = 'block h-full rounded-xl border bg-surface px-4 py-3';

function Frame(tile: Tile) {
  const { href, isChosen } = tile;
  const tone = tile.isAlarm && tile.count > 0 ? 'border-warn' : 'border-line';
  if (!href) {
    return (
      <div className={`${box} ${tone}`}>
        <Count {...tile} />
      </div>
    );
  }
  return (
    <Link
      href={href}
      prefetch={false}
      aria-current={isChosen ? 'true' : undefined}
      className={`${box} ${tone} hover:border-strong-line aria-current:border-accent aria-current:ring-1 aria-current:ring-accent`}
    >
      <Count {...tile} />
    </Link>
  );
}

function Count({ name, label, count, note }: Tile) {
  return (
    <>
      <span className="block text-2xl font-semibold tabular-nums" data-count={name}>
        {count.toLocaleString('en-US')}
      </span>
      <span className="text-sm text-muted">{label}</span>
      {note ? <span className="block text-sm text-muted">{note}</span> : null}
    </>
  );
}
