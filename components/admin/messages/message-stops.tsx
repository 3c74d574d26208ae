import type { Stop } from 'oncekit/admin';
import { Panel } from '../../ui/panel.tsx';
import type { FormAction } from '../keys/key-form.tsx';
import { Moment } from '../shared/moment.tsx';
import { MessageForm } from './message-form.tsx';

interface Props {
  stops: readonly Stop[];
  /** How many events wait for a destination. */
  waiting: (destination: string) => number;
  now: number;
  resume: FormAction;
}

/** Destinations that want nothing more: nobody but a person has them go on. */
export function MessageStops({ stops, waiting, now, resume }: Props) {
  return stops.map(({ destination, reason, at }) => {
    const events = waiting(destination);
    return (
      <Panel key={destination} aria-label={`${destination} is stopped`} className="mb-6 border-warn">
        <h2 className="text-lg font-semibold break-words">{destination} is stopped</h2>
        <p className="mt-2 break-words">{reason}</p>
        <p>
          It said so at <Moment at={at} now={now} precision="second" />.{' '}
          {events === 1 ? '1 event waits.' : `${events.toLocaleString('en-US')} events wait.`}
        </p>
        <p className="mt-1 mb-4 max-w-prose text-sm text-muted">
          Resuming sends what waits, in its order. If it is refused with 410 once more, it stops again; nothing is lost.
        </p>
        <MessageForm action={resume} about={{ destination }} label={`Resume ${destination}`} variant="quiet" />
      </Panel>
    );
  });
}
