import type { ReceivedRow } from '../../lib/demo/receiver.ts';
import { RelativeTime } from '../admin/relative-time.tsx';
import { Badge } from '../ui/badge.tsx';
import { formatCents } from '../ui/money.ts';
import { Cell, Table } from '../ui/table.tsx';
import { TextLink } from '../ui/text-link.tsx';

const columns = ['Event', 'Order', 'No.', 'Webhooks', 'Streams', 'Effects', 'Amount', 'First came'];
const numbers = ['No.', 'Webhooks', 'Streams', 'Effects', 'Amount'];

/** The events that a partner's system has got, newest first. */
export function ReceivedTable({ rows, now }: { rows: readonly ReceivedRow[]; now: number }) {
  return (
    <Table label="Received events" columns={columns} numbers={numbers}>
      {rows.map(({ id, type, orderId, sequence, webhooks, streams, effects, amountCents, firstAt }) => (
        <tr key={id} data-event={id}>
          <Cell className="font-mono" title={id}>
            {type}
          </Cell>
          <Cell className="font-mono" title={orderId}>
            <TextLink href={`/orders/${orderId}`} prefetch={false}>
              {orderId.slice(0, 8)}
            </TextLink>
          </Cell>
          <Cell className="text-right tabular-nums">{sequence}</Cell>
          <Cell className="text-right tabular-nums">{webhooks}</Cell>
          <Cell className="text-right tabular-nums">{streams}</Cell>
          <Cell className="text-right tabular-nums">
            <Badge tone={effects === 1 ? 'good' : 'bad'}>{effects}</Badge>
          </Cell>
          <Cell className="text-right tabular-nums">{amountCents === null ? '–' : formatCents(amountCents)}</Cell>
          <Cell>
            <RelativeTime at={firstAt} now={now} />
          </Cell>
        </tr>
      ))}
    </Table>
  );
}
