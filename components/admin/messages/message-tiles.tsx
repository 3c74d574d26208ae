import type { Open } from 'oncekit/admin';
import type { MessagesQuery } from '../../../shop/admin/messages-query.ts';
import { Moment } from '../shared/moment.tsx';
import { Tiles } from '../shared/tiles.tsx';
import { messagesHref } from './message-addresses.ts';

const tiles = {
  outbox: [
    { state: 'dead', label: 'dead letters' },
    { state: 'pending', label: 'pending' },
  ],
  inbox: [
    { state: 'dead', label: 'dead letters' },
    { state: 'failed', label: 'failed, tried again' },
  ],
} as const;

/** Counts of what is not settled. Settled messages are slow to count, and nobody has to act upon them. */
export function MessageTiles({ query, open, now }: { query: MessagesQuery; open: readonly Open[]; now: number }) {
  const counted = query.peer ? open.filter(({ peer }) => peer === query.peer) : open;
  const shown = tiles[query.box].map(({ state, label }) => {
    const those = counted.filter((each) => each.state === state);
    const oldest = Math.min(...those.map(({ oldestAt }) => oldestAt.getTime()));
    const isChosen = query.state === state;
    return {
      name: state,
      label,
      count: those.reduce((sum, { count }) => sum + count, 0),
      note:
        those.length > 0 ? (
          <>
            oldest: <Moment at={new Date(oldest)} now={now} precision="second" />
          </>
        ) : undefined,
      href: messagesHref(query, { state: isChosen ? undefined : state }),
      isChosen,
      isAlarm: state === 'dead',
    };
  });
  return <Tiles label="Counts" tiles={shown} className="grid-cols-2" />;
}
