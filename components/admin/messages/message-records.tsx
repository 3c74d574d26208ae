import type { MessageRecord } from 'oncekit/admin';
import { RecordList } from '../shared/record-list.tsx';

const words: Record<string, string> = {
  requeued: 'Requeued',
  skipped: 'Skipped',
  abandoned: 'Skipped with all that waited for the destination',
  stopped: 'Stopped the destination',
  payload_mismatch: 'Came again with another payload; the first one counts',
};

/** Acts on an event besides its ordinary way, and by whom. A newer version may have written other types. */
export function MessageRecords({ records }: { records: readonly MessageRecord[] }) {
  const shown = records.map(({ type, peer, actor, at }) => ({
    at,
    words: `${words[type] ?? type} (${peer}), by ${actor}`,
  }));
  return <RecordList title="Records" none="Nothing besides its ordinary way." records={shown} />;
}
