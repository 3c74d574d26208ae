import type { KeyEvent } from 'oncekit/admin';
import { Panel } from '../ui/panel.tsx';

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
  return (
    <Panel aria-labelledby="events-title">
      <h2 id="events-title" className="text-lg font-semibold">
        Events
      </h2>
      {events.length === 0 ? (
        <p className="mt-2 text-muted">Nothing besides the ordinary way from claim to result.</p>
      ) : (
        <ol className="mt-3 grid gap-2">
          {events.map((event, n) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the list is only ever appended to
            <li key={n} className="flex flex-wrap gap-x-4">
              <time dateTime={event.at.toISOString()} className="text-muted tabular-nums">
                {event.at.toISOString().replace('T', ' ')}
              </time>
              <span className="min-w-0 break-words">
                {words[event.type]}, by {event.actor}
                {event.detail ? <span className="text-muted"> ({particulars(event)})</span> : null}
              </span>
            </li>
          ))}
        </ol>
      )}
    </Panel>
  );
}
