'use client';

import Link from 'next/link';
import { useEffect, useRef } from 'react';
import type { Preset } from '../../shop/lab/presets.ts';
import { buttonClass } from '../ui/button.tsx';

/** Offers the faults, each at its own address. On a phone they scroll, and fade where there are more. */
export function PresetNav({ presets, current }: { presets: readonly Preset[]; current: string }) {
  const row = useRef<HTMLUListElement>(null);
  useEffect(() => {
    const chosen = row.current?.querySelector<HTMLElement>(`a[href="/lab/${current}"]`);
    // The row alone: the page stays where it is.
    if (chosen && row.current) row.current.scrollLeft = chosen.offsetLeft - row.current.offsetLeft - 16;
  }, [current]);
  return (
    <nav aria-label="What goes wrong" className="mb-6 max-sm:-mx-4">
      <ul
        ref={row}
        className="flex gap-2 max-sm:overflow-x-auto max-sm:py-1 max-sm:pr-16 max-sm:pl-4 max-sm:fades-right sm:flex-wrap"
      >
        {presets.map(({ slug, name }) => (
          <li key={slug}>
            <Link
              href={`/lab/${slug}`}
              prefetch={false}
              scroll={false}
              aria-current={slug === current ? 'page' : undefined}
              className={buttonClass(
                'quiet',
                'text-sm! whitespace-nowrap aria-[current=page]:border-accent aria-[current=page]:ring-1 aria-[current=page]:ring-accent',
              )}
            >
              {name}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}
