import type { Payment } from '../../shop/orders/payment-answer.ts';
import { toneClass } from '../ui/badge.tsx';
import { Icon } from '../ui/icon.tsx';
import { PageTitle } from '../ui/page-title.tsx';
import { titleOf } from './order-title.ts';

interface Props {
  status: string;
  isOwn: boolean;
  payment: Payment;
}

/** The state of an order, for its customer or for an admin who looks at it. */
export function OrderHeading({ status, isOwn, payment }: Props) {
  const { title, lead, icon, tone } = titleOf(status, payment);
  return (
    <div className="flex gap-3 sm:gap-4">
      <span className={`flex size-9 shrink-0 items-center justify-center rounded-full sm:size-11 ${toneClass(tone)}`}>
        <Icon name={icon} />
      </span>
      <div className="min-w-0 sm:pt-0.5">
        <PageTitle lead={isOwn ? lead : 'You see this order as an admin.'}>{isOwn ? title : 'Order'}</PageTitle>
      </div>
    </div>
  );
}
