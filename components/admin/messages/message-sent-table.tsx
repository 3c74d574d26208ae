import type { DeliveryRow, Stop } from 'oncekit/admin';
import { Cell, Row, Table } from '../../ui/table.tsx';
import { TextLink } from '../../ui/text-link.tsx';
import { ListedMoment } from '../shared/moment.tsx';
import { sentHref } from './message-addresses.ts';
import { NextTry } from './message-next-try.tsx';
import { MessageStateBadge } from './message-state.tsx';

const columns = ['State', 'Event and destination', 'Announced', 'Next try', 'Last error'];

interface Props {
  rows: readonly DeliveryRow[];
  stops: readonly Stop[];
  now: number;
  label?: string;
}

/** Events on their way, a row for each destination, newest event first. */
export function SentTable({ rows, stops, now, label = 'Outbox' }: Props) {
  return (
    <Table label={label} columns={columns} isStacked>
      {rows.map((row) => (
        <Row key={`${row.eventId} ${row.destination}`}>
          <Cell className="max-sm:flex-wrap max-sm:items-baseline">
            <MessageStateBadge state={row.state} />
            <span className="block text-xs text-muted tabular-nums">
              {row.attempts === 1 ? '1 attempt' : `${row.attempts} attempts`}
            </span>
          </Cell>
          <Cell className="max-w-60 max-sm:block!">
            <TextLink href={sentHref(row.eventId)} prefetch={false} title={row.eventId}>
              {row.type}
            </TextLink>
            <span className="flex min-w-0 gap-1 text-muted" title={row.aggregate}>
              <span className="tabular-nums">#{row.sequence}</span>
              <span className="truncate">{row.aggregate}</span>
            </span>
            <span className="block min-w-0 truncate text-muted">to {row.destination}</span>
          </Cell>
          <Cell label="Announced">
            <ListedMoment at={row.createdAt} now={now} />
          </Cell>
          <Cell label="Next try" className={row.state === 'pending' || row.state === 'dead' ? '' : 'max-sm:hidden!'}>
            <NextTry row={row} stops={stops} now={now} />
          </Cell>
          <Cell label="Last error" className={`min-w-48 whitespace-normal! ${row.lastError ? '' : 'max-sm:hidden!'}`}>
            <span className="block min-w-0 break-words">{row.lastError ?? '–'}</span>
          </Cell>
        </Row>
      ))}
    </Table>
  );
}
