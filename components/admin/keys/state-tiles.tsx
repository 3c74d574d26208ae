import type { KeyState } from 'oncekit';
import type { Overview } from 'oncekit/admin';
import type { KeysQuery } from '../../../shop/admin/query.ts';
import { listHref } from '../shared/addresses.ts';
import { Moment } from '../shared/moment.tsx';
import { type Tile, Tiles } from '../shared/tiles.tsx';
import { stateName, states } from './state-badge.tsx';

interface Props {
  overview: Overview;
  query: KeysQuery;
  now: number;
}

/** How many keys are stuck, and in each state. A tile filters the list by what it counts, and again to show all. */
export function StateTiles({ overview, query, now }: Props) {
  const { counts, stuck, oldestInProgressAt, duplicatesPrevented, isEstimated } = overview;
  const note = (state: KeyState) => {
    if (state === 'in_progress' && oldestInProgressAt) {
      return (
        <>
          oldest: <Moment at={oldestInProgressAt} now={now} precision="second" />
        </>
      );
    }
    return isEstimated && state !== 'in_progress' && state !== 'unknown' ? 'an estimate' : undefined;
  };
  const tiles: Tile[] = [
    {
      name: 'stuck',
      label: 'stuck',
      count: stuck,
      href: listHref(query, { stuck: query.stuck ? undefined : '1', state: undefined }),
      isChosen: query.stuck === '1',
      isAlarm: true,
    },
    ...states.map((state) => ({
      name: state,
      label: stateName(state),
      count: counts[state] ?? 0,
      note: note(state),
      href: listHref(query, { state: query.state === state ? undefined : state, stuck: undefined }),
      isChosen: query.state === state,
      isAlarm: state === 'unknown',
    })),
  ];
  if (duplicatesPrevented !== null)
    tiles.push({
      name: 'duplicates',
      label: 'replayed',
      count: duplicatesPrevented,
      note: 'duplicates prevented in 30 days',
    });
  const columns = duplicatesPrevented === null ? 'sm:grid-cols-3' : 'sm:grid-cols-4 sm:*:last:col-span-2';
  return <Tiles label="Counts" tiles={tiles} className={`grid-cols-2 ${columns}`} />;
}
