import type { findAnyOrder } from '../../shop/orders/orders.ts';
import { Badge, type Tone } from '../ui/badge.tsx';
import { formatCents } from '../ui/money.ts';
import { Cell, Row, Table } from '../ui/table.tsx';

type Refund = NonNullable<Awaited<ReturnType<typeof findAnyOrder>>>['refunds'][number];

const words: Record<string, { tone: Tone; text: string }> = {
  pending: { tone: 'info', text: 'Under way' },
  succeeded: { tone: 'good', text: 'Given back' },
  failed: { tone: 'bad', text: 'Refused' },
  notArrived: { tone: 'bad', text: 'Has not reached you' },
};

/** Where one was asked for that the customer has not asked for. */
const places: Record<string, string> = {
  provider: 'at the payment provider',
  unexpected: 'of a payment that we did not expect',
};

interface Props {
  refunds: readonly Refund[];
  /** The provider's names of those that were booked and have failed since. */
  failed: readonly string[];
}

/** Every refund of an order, in the order in which they were asked for. */
export function RefundList({ refunds, failed }: Props) {
  // One of a payment that nobody expected is asked for again by us, not by the customer, when it came to nothing.
  const shown = refunds.filter(({ source, status }) => source !== 'unexpected' || status !== 'failed');
  if (shown.length === 0) return null;
  return (
    <div>
      <h2 className="mb-3 text-lg font-semibold">Refunds</h2>
      <Table label="Refunds" columns={['Amount', 'State', 'Asked for', 'Reference']} isStacked>
        {shown.map((refund) => (
          <RefundRow key={refund.id} refund={refund} hasFailedSince={failed.includes(refund.providerRefund ?? '')} />
        ))}
      </Table>
    </div>
  );
}

function RefundRow({ refund, hasFailedSince }: { refund: Refund; hasFailedSince: boolean }) {
  const { amountCents, status, source, createdAt, providerRefund } = refund;
  const { tone, text } = words[hasFailedSince ? 'notArrived' : status] ?? { tone: 'muted', text: status };
  return (
    <Row data-refund-status={status}>
      <Cell label="Amount" className="tabular-nums">
        {formatCents(amountCents)}
      </Cell>
      <Cell label="State">
        <Badge tone={tone}>{text}</Badge>
      </Cell>
      <Cell label="Asked for">
        <span>
          <time dateTime={createdAt.toISOString()}>{when.format(createdAt)} UTC</time>
          {places[source] && <span className="block text-muted">{places[source]}</span>}
        </span>
      </Cell>
      <Cell label="Reference">
        {providerRefund ? <code className="min-w-0 truncate font-mono">{providerRefund}</code> : '–'}
      </Cell>
    </Row>
  );
}

const when = new Intl.DateTimeFormat('en-US', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });
