import { Badge, type Tone } from '../ui/badge.tsx';

const words: Record<string, { tone: Tone; text: string }> = {
  pending: { tone: 'info', text: 'Placed' },
  paying: { tone: 'info', text: 'Being paid' },
  paid: { tone: 'good', text: 'Paid' },
  payment_failed: { tone: 'bad', text: 'Payment failed' },
  partially_refunded: { tone: 'warn', text: 'Partly refunded' },
  refunded: { tone: 'muted', text: 'Refunded' },
  cancelled: { tone: 'muted', text: 'Cancelled' },
};

export function OrderStatusBadge({ status }: { status: string }) {
  const { tone, text } = words[status] ?? { tone: 'muted', text: status };
  return (
    <span data-order-status={status}>
      <Badge tone={tone}>{text}</Badge>
    </span>
  );
}
