import type { MessageRecord } from 'oncekit/admin';
import { Panel } from '../ui/panel.tsx';

const words: Record<string, string> = {
  requeued: 'Requeued',
  skipped: 'Skipped',
  abandoned: 'Skipped with all that waited for the destination',
  stopped: 'Stopped the destination',
  payload_mismatch: 'Came again with another payload; the first one counts',
};

/** What was done to an event besides its ordinary way, and by whom. A newer version may have written other types. */
export function MessageRecords({ records }: { records: readonly MessageRecord[] }) {
  return (
    <Panel aria-labelledby="records-title">
      <h2 id="records-title" className="text-lg font-semibold">
        Records
      </h2>
      {records.length === 0 ? (
        <p className="mt-2 text-muted">Nothing besides its ordinary way.</p>
      ) : (
        <ol className="mt-3 grid gap-2">
          {records.map(({ type, peer, actor, at }, n) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the list is only ever appended to
            <li key={n} className="flex flex-wrap gap-x-4">
              <time dateTime={at.toISOString()} className="text-muted tabular-nums">
                {at.toISOString().replace('T', ' ')}
              </time>
              <span className="min-w-0 break-words">
                {words[type] ?? type} ({peer}), by {actor}
              </span>
            </li>
          ))}
        </ol>
      )}
    </Panel>
  );
}
