import type { ReceivedSummary } from 'oncekit/admin';
import { Badge } from '../../ui/badge.tsx';
import { Cell, Row, Table } from '../../ui/table.tsx';
import { TextLink } from '../../ui/text-link.tsx';
import { ListedMoment } from '../shared/moment.tsx';
import { RelativeTime } from '../shared/relative-time.tsx';
import { receivedHref } from './message-addresses.ts';
import { MessageStateBadge } from './message-state.tsx';

const columns = ['State', 'Event', 'Source', 'Attempts', 'Received', 'Next try', 'Last error'];

interface ReceivedRows {
  rows: readonly ReceivedSummary[];
  now: number;
  label?: string;
}

/** Received events, newest first. */
export function ReceivedTable({ rows, now, label = 'Inbox' }: ReceivedRows) {
  return (
    <Table label={label} columns={columns} isStacked>
      {rows.map((row) => (
        <Row key={`${row.source} ${row.eventId}`}>
          <Cell>
            <MessageStateBadge state={row.state} />{' '}
            {row.mismatches > 0 ? <Badge tone="warn">payload differed</Badge> : null}
          </Cell>
          <Cell label="Event" className="max-w-60 font-mono" title={row.eventId}>
            <TextLink href={receivedHref(row)} prefetch={false} className="block min-w-0 truncate">
              {row.eventId}
            </TextLink>
          </Cell>
          <Cell label="Source">{row.source}</Cell>
          <Cell label="Attempts" className="text-right tabular-nums">
            {row.attempts}
          </Cell>
          <Cell label="Received">
            <ListedMoment at={row.receivedAt} now={now} />
          </Cell>
          <Cell label="Next try">
            <NextRun row={row} now={now} />
          </Cell>
          <Cell label="Last error" className="max-w-72 whitespace-normal">
            <span className="block min-w-0 break-words">{row.lastError ?? '–'}</span>
          </Cell>
        </Row>
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
