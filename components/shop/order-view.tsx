import type { CallAnswer } from '../../shop/admin/call-answer.ts';
import type { findAnyOrder } from '../../shop/orders/orders.ts';
import { AnswerWords } from '../admin/keys/call-answers.tsx';
import { Detail, Details } from '../ui/details.tsx';
import { formatCents } from '../ui/money.ts';
import { Panel } from '../ui/panel.tsx';
import { OrderStatusBadge } from './order-status-badge.tsx';
import { ProductPicture } from './product-picture.tsx';

type Order = NonNullable<Awaited<ReturnType<typeof findAnyOrder>>>;

/** The goods, payments and details of an order. */
export function OrderView({ order, payment }: { order: Order; payment: CallAnswer | undefined }) {
  const address = [
    order.customerName,
    order.line1,
    [order.postalCode, order.city].filter(Boolean).join(' '),
    order.country,
  ];
  const lines = address.filter(Boolean);
  return (
    <Panel aria-label="The order">
      <div className="flex items-center gap-4 border-b border-line pb-5">
        <ProductPicture sku={order.sku} className="size-20 shrink-0 rounded-lg" />
        <div className="grid min-w-0 flex-1 justify-items-start">
          <p className="font-medium">{order.productName}</p>
          <p className="mb-1.5 text-sm text-muted tabular-nums">
            {order.quantity} × {formatCents(order.amountCents / order.quantity)}
          </p>
          <OrderStatusBadge status={order.status} />
        </div>
        <strong className="self-start text-xl font-semibold tabular-nums">{formatCents(order.amountCents)}</strong>
      </div>
      <div className="pt-5">
        <Details>
          {lines.length > 0 && (
            <Detail name="Ships to">
              <address className="whitespace-pre-line not-italic">{lines.join('\n')}</address>
            </Detail>
          )}
          {payment && (
            <Detail name="Payment">
              <AnswerWords answer={payment} />
            </Detail>
          )}
          {order.disputedAt && (
            <Detail name="Dispute">
              The payment is disputed since{' '}
              <time dateTime={order.disputedAt.toISOString()}>{when.format(order.disputedAt)} UTC</time>: the bank
              decides about the money.
            </Detail>
          )}
          <Detail name="Placed">
            <time dateTime={order.createdAt.toISOString()}>{when.format(order.createdAt)} UTC</time>
          </Detail>
          <Detail name="Number">
            <code className="font-mono text-xs break-all sm:text-sm">{order.id}</code>
          </Detail>
        </Details>
      </div>
    </Panel>
  );
}

const when = new Intl.DateTimeFormat('en-US', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });
