import type { ReceivedSummary } from 'oncekit/admin';
import { Badge } from '../ui/badge.tsx';
import { Cell, Table } from '../ui/table.tsx';
import { TextLink } from '../ui/text-link.tsx';
import { receivedHref } from './message-addresses.ts';
import { MessageStateBadge } from './message-state.tsx';
import { RelativeTime } from './relative-time.tsx';

const columns = ['State', 'Event', 'Source', 'Attempts', 'Received', 'Next try', 'Last error'];

/** Received events, newest first. */
export function ReceivedTable({ rows, now }: { rows: readonly ReceivedSummary[]; now: number }) {
  return (
    <Table label="Inbox" columns={columns}>
      {rows.map((row) => (
        <tr key={`${row.source} ${row.eventId}`}>
          <Cell>
            <MessageStateBadge state={row.state} />{' '}
            {row.mismatches > 0 ? <Badge tone="warn">payload differed</Badge> : null}
          </Cell>
          <Cell className="max-w-60 truncate font-mono" title={row.eventId}>
            <TextLink href={receivedHref(row)} prefetch={false}>
              {row.eventId}
            </TextLink>
          </Cell>
          <Cell>{row.source}</Cell>
          <Cell className="text-right tabular-nums">{row.attempts}</Cell>
          <Cell>
            <RelativeTime at={row.receivedAt} now={now} />
          </Cell>
          <Cell>
            <NextRun row={row} now={now} />
          </Cell>
          <Cell className="max-w-40 truncate" title={row.lastError ?? undefined}>
            {row.lastError ?? '–'}
          </Cell>
        </tr>
      ))}
    </Table>
  );
}

/** When an event is run again that has failed. */
export function NextRun({ row, now }: { row: ReceivedSummary; now: number }) {
  if (row.state === 'dead') return 'when requeued';
  if (!row.nextAttemptAt) return '–';
  return row.nextAttemptAt.getTime() <= now ? 'now' : <RelativeTime at={row.nextAttemptAt} now={now} />;
}
