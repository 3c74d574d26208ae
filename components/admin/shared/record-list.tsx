import type { ReactNode } from 'react';
import { TitledPanel } from '../../ui/titled-panel.tsx';
import { utc } from './moment.tsx';

interface Props {
  title: string;
  /** Shown where the list is empty. */
  none: string;
  /** Oldest first. */
  records: readonly { at: Date; words: ReactNode }[];
}

/** Events besides the ordinary way, with times to the millisecond: they are compared with logs. */
export function RecordList({ title, none, records }: Props) {
  return (
    <TitledPanel title={title}>
      {records.length === 0 ? (
        <p className="mt-2 text-muted">{none}</p>
      ) : (
        <ol className="mt-3 grid gap-2">
          {records.map(({ at, words }, n) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the list is only ever appended to
            <li key={n} className="flex flex-wrap gap-x-4">
              <time dateTime={at.toISOString()} className="text-muted tabular-nums">
                {utc(at)}
              </time>
              <span className="min-w-0 break-words">{words}</span>
            </li>
          ))}
        </ol>
      )}
    </TitledPanel>
  );
}
