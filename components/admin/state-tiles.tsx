import Link from 'next/link';
import type { KeyState } from 'oncekit';
import type { KeysQuery } from '../../lib/demo/admin.ts';
import { listHref } from './addresses.ts';
import { stateName, states } from './state-badge.tsx';

/** How many keys there are in each state; a tile filters the list by its state, and again to show all. */
export function StateTiles({ counts, query }: { counts: Partial<Record<KeyState, number>>; query: KeysQuery }) {
  return (
    <ul className="mb-6 grid grid-cols-2 gap-3 sm:grid-cols-5" aria-label="Counts">
      {states.map((state) => {
        const isChosen = query.state === state;
        return (
          <li key={state} className="max-sm:last:col-span-2">
            <Link
              href={listHref(query, { state: isChosen ? undefined : state })}
              prefetch={false}
              aria-current={isChosen ? 'true' : undefined}
              className="block rounded-xl border border-line bg-surface px-4 py-3 hover:border-strong-line aria-current:border-accent aria-current:ring-1 aria-current:ring-accent"
            >
              <span className="block text-2xl font-semibold tabular-nums" data-count={state}>
                {(counts[state] ?? 0).toLocaleString('en-US')}
              </span>
              <span className="text-sm text-muted">{stateName(state)}</span>
            </Link>
          </li>
        );
      })}
    </ul>
  );
}
