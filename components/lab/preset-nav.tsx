import Link from 'next/link';
import type { Preset } from '../../lib/demo/lab-presets.ts';
import { buttonClass } from '../ui/button.tsx';

/** What can go wrong, each at its own address. */
export function PresetNav({ presets, current }: { presets: readonly Preset[]; current: string }) {
  return (
    <nav aria-label="What goes wrong" className="mb-6 max-sm:-mx-4 max-sm:overflow-x-auto max-sm:px-4 max-sm:py-1">
      <ul className="flex gap-2 sm:flex-wrap">
        {presets.map(({ slug, name }) => (
          <li key={slug}>
            <Link
              href={`/lab/${slug}`}
              prefetch={false}
              scroll={false}
              aria-current={slug === current ? 'page' : undefined}
              className={buttonClass(slug === current ? 'primary' : 'quiet', 'text-sm! whitespace-nowrap')}
            >
              {name}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}
