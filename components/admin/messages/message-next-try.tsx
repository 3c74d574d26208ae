import type { DeliveryRow, Stop } from 'oncekit/admin';
import { TextLink } from '../../ui/text-link.tsx';
import { ListedMoment } from '../shared/moment.tsx';
import { sentHref } from './message-addresses.ts';

/** When an event goes out that has not, or what it waits for. */
export function NextTry({ row, stops, now }: { row: DeliveryRow; stops: readonly Stop[]; now: number }) {
  const { state, waitsFor, destination, nextAttemptAt } = row;
  if (waitsFor) {
    return (
      <>
        waits for{' '}
        <TextLink href={sentHref(waitsFor.eventId)} prefetch={false}>
          #{waitsFor.sequence}
        </TextLink>
        {waitsFor.state === 'dead' ? ', a dead letter' : null}
      </>
    );
  }
  if (state === 'dead') return 'when requeued';
  if (state !== 'pending' || !nextAttemptAt) return '–';
  if (stops.some((stop) => stop.destination === destination)) return 'when resumed';
  return nextAttemptAt.getTime() <= now ? 'now' : <ListedMoment at={nextAttemptAt} now={now} />;
}
