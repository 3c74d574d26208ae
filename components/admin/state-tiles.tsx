import type { KeyState } from 'oncekit';
import type { KeysQuery } from '../../lib/demo/admin.ts';
import { listHref } from './addresses.ts';
import { stateName, states } from './state-badge.tsx';
import { Tiles } from './tiles.tsx';

/** How many keys there are in each state; a tile filters the list by its state, and again to show all. */
export function StateTiles({ counts, query }: { counts: Partial<Record<KeyState, number>>; query: KeysQuery }) {
  const tiles = states.map((state) => {
    const isChosen = query.state === state;
    const href = listHref(query, { state: isChosen ? undefined : state });
    return { name: state, label: stateName(state), count: counts[state] ?? 0, href, isChosen };
  });
  return <Tiles label="Counts" tiles={tiles} className="grid-cols-2 sm:grid-cols-5" />;
}
