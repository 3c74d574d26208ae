import type { ReceivedRow } from '../../shop/receiver/receiver.ts';
import { RelativeTime } from '../admin/shared/relative-time.tsx';
import { Badge } from '../ui/badge.tsx';
import { formatCents } from '../ui/money.ts';
import { Cell, Row, Table } from '../ui/table.tsx';
import { TextLink } from '../ui/text-link.tsx';

const columns = ['Event', 'Order', 'No.', 'Webhooks', 'Streams', 'Effects', 'Amount', 'First came'];
const numbers = ['No.', 'Webhooks', 'Streams', 'Effects', 'Amount'];

/** The events that a partner's system has got, newest first. */
export function ReceivedTable({ rows, now }: { rows: readonly ReceivedRow[]; now: number }) {
  return (
    <Table label="Received events" columns={columns} numbers={numbers} isStacked>
      {rows.map(({ id, type, orderId, sequence, webhooks, streams, effects, amountCents, firstAt }) => (
        <Row key={id} data-event={id}>
          <Cell className="font-mono" title={id}>
            {type}
          </Cell>
          <Cell label="Order" className="font-mono" title={orderId}>
            <TextLink href={`/orders/${orderId}`} prefetch={false}>
              {orderId.slice(0, 8)}
            </TextLink>
          </Cell>
          <Cell label="No." className="text-right tabular-nums">
            {sequence}
          </Cell>
          <Cell label="Webhooks" className="text-right tabular-nums">
            {webhooks}
          </Cell>
          <Cell label="Streams" className="text-right tabular-nums">
            {streams}
          </Cell>
          <Cell label="Effects" className="text-right tabular-nums">
            <Badge tone={effects === 1 ? 'good' : 'bad'}>{effects}</Badge>
          </Cell>
          <Cell label="Amount" className="text-right tabular-nums">
            {amountCents === null ? '–' : formatCents(amountCents)}
          </Cell>
          <Cell label="First came">
            <RelativeTime at={firstAt} now={now} />
          </Cell>
        </Row>
      ))}
    </Table>
  );
}
