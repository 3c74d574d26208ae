import type { KeyEvent } from 'oncekit/admin';
import { RecordList } from './record-list.tsx';

const words: Record<KeyEvent['type'], string> = {
  fenced: 'Given up for good',
  payload_mismatch: 'Sent again with another payload, refused',
  unknown: 'The outcome of a foreign call could not be learned',
  resolved: 'The outcome of a foreign call was found',
  gave_up: 'Tried too often, waits for a person',
  late_answer: 'An answer came after the lease was lost',
  evidence: 'Something was heard from elsewhere',
  verdict: 'A person said what happened',
  retry: 'Taken up again at a person’s request',
};

/** What an event has to say besides its kind; an older or a newer app may have written other names. */
function particulars({ detail }: KeyEvent): string {
  return Object.entries(detail ?? {})
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
}

export function KeyEvents({ events }: { events: readonly KeyEvent[] }) {
  const shown = events.map((event) => ({
    at: event.at,
    words: (
      <>
        {words[event.type]}, by {event.actor}
        {event.detail ? <span className="text-muted"> ({particulars(event)})</span> : null}
      </>
    ),
  }));
  return <RecordList title="Events" none="Nothing besides the ordinary way from claim to result." records={shown} />;
}
