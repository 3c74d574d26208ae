import type { findAnyOrder } from '../../lib/demo/orders.ts';
import { Detail, Details } from '../ui/details.tsx';
import { formatCents } from '../ui/money.ts';
import { Panel } from '../ui/panel.tsx';
import { OrderStatusBadge } from './order-status-badge.tsx';

type Order = NonNullable<Awaited<ReturnType<typeof findAnyOrder>>>;

export function OrderView({ order }: { order: Order }) {
  const address = [
    order.customerName,
    order.line1,
    [order.postalCode, order.city].filter(Boolean).join(' '),
    order.country,
  ];
  const lines = address.filter(Boolean);
  return (
    <Panel>
      <Details>
        <Detail name="Number">
          <code className="font-mono text-sm break-all">{order.id}</code>
        </Detail>
        <Detail name="Placed">
          <time dateTime={order.createdAt.toISOString()}>{when.format(order.createdAt)} UTC</time>
        </Detail>
        <Detail name="Status">
          <OrderStatusBadge status={order.status} />
        </Detail>
        <Detail name="Product">{order.productName}</Detail>
        <Detail name="Quantity">{order.quantity}</Detail>
        <Detail name="Total">
          <strong className="tabular-nums">{formatCents(order.amountCents)}</strong>
        </Detail>
        {order.paymentIntent && (
          <Detail name="Payment">
            Charged once <code className="ml-1 font-mono text-sm break-all text-muted">{order.paymentIntent}</code>
          </Detail>
        )}
        {order.disputedAt && (
          <Detail name="Dispute">
            The payment is disputed since{' '}
            <time dateTime={order.disputedAt.toISOString()}>{when.format(order.disputedAt)} UTC</time>: the bank decides
            about the money.
          </Detail>
        )}
        {lines.length > 0 && (
          <Detail name="Ships to">
            <address className="whitespace-pre-line not-italic">{lines.join('\n')}</address>
          </Detail>
        )}
      </Details>
    </Panel>
  );
}

const when = new Intl.DateTimeFormat('en-US', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });
