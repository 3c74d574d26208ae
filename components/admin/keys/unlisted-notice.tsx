import { Notice } from '../../ui/notice.tsx';

interface Props {
  operation: string;
  /** How many there are; undefined on the page of one. */
  count?: number;
}

/** Says why no worker goes on with keys of an operation, and what to add. */
export function UnlistedNotice({ operation, count }: Props) {
  const keys = count === 1 ? '1 key' : `${count?.toLocaleString('en-US')} keys`;
  return (
    <div role="alert">
      <Notice tone="bad">
        No worker goes on with {count === undefined ? 'this key' : `${keys} of ${operation}`}, because no operation of
        the name {operation} is listed. Add it to <code className="font-mono text-sm">lib/operations.ts</code>, also
        where <code className="font-mono text-sm">{`.as('${operation}')`}</code> has made it of another one.
      </Notice>
    </div>
  );
}
