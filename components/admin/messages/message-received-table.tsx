import type { ReceivedSummary } from 'oncekit/admin';
import { Badge } from '../../ui/badge.tsx';
import { Cell, Row, Table } from '../../ui/table.tsx';
import { TextLink } from '../../ui/text-link.tsx';
import { EndOf } from '../shared/end-of.tsx';
import { ListedMoment } from '../shared/moment.tsx';
import { receivedHref } from './message-addresses.ts';
import { MessageStateBadge } from './message-state.tsx';

const columns = ['State', 'Event and source', 'Received', 'Next try', 'Last error'];

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
          <Cell className="max-w-44 whitespace-normal! max-sm:flex-wrap max-sm:items-baseline">
            <MessageStateBadge state={row.state} />{' '}
            {row.mismatches > 0 ? <Badge tone="warn">payload differed</Badge> : null}
            <span className="block text-xs text-muted tabular-nums">
              {row.attempts === 1 ? '1 attempt' : `${row.attempts} attempts`}
            </span>
          </Cell>
          <Cell className="max-w-44 max-sm:block!">
            <TextLink href={receivedHref(row)} prefetch={false} title={row.eventId} className="block min-w-0 font-mono">
              <EndOf text={row.eventId} />
            </TextLink>
            <span className="block min-w-0 truncate text-muted">{row.source}</span>
          </Cell>
          <Cell label="Received">
            <ListedMoment at={row.receivedAt} now={now} />
          </Cell>
          <Cell label="Next try" className={row.state === 'processed' ? 'max-sm:hidden!' : ''}>
            <NextRun row={row} now={now} />
          </Cell>
          <Cell label="Last error" className={`min-w-48 whitespace-normal! ${row.lastError ? '' : 'max-sm:hidden!'}`}>
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
  return row.nextAttemptAt.getTime() <= now ? 'now' : <ListedMoment at={row.nextAttemptAt} now={now} />;
}
