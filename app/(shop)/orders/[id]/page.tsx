import { notFound } from 'next/navigation';
import { issueKey } from 'oncekit/next';
import { CancelForm } from '../../../../components/shop/cancel-form.tsx';
import { KeepFresh } from '../../../../components/shop/keep-fresh.tsx';
import { titleOf } from '../../../../components/shop/order-title.ts';
import { OrderView } from '../../../../components/shop/order-view.tsx';
import { RefundForm } from '../../../../components/shop/refund-form.tsx';
import { RefundList } from '../../../../components/shop/refund-list.tsx';
import { PageTitle } from '../../../../components/ui/page-title.tsx';
import { TextLink } from '../../../../components/ui/text-link.tsx';
import { isAdmin } from '../../../../lib/demo/admin-session.ts';
import { cancelOrder } from '../../../../lib/demo/cancel.ts';
import { findAnyOrder, findOrder } from '../../../../lib/demo/orders.ts';
import { refund } from '../../../../lib/demo/refund.ts';
import { currentPrincipal } from '../../../../lib/demo/visitor.ts';
import { cancel, giveMoneyBack } from './actions.ts';

export const metadata = { title: 'Your order' };

export default async function OrderPage({ params }: { params: Promise<{ id: string }> }) {
  const { id } = await params;
  const own = await findOrder(id, await currentPrincipal());
  const order = own ?? ((await isAdmin()) ? await findAnyOrder(id) : null);
  if (!order) notFound();
  const { title, lead } = own ? titleOf(order.status) : { title: 'Order', lead: 'You see this order as an admin.' };
  const isOpen = order.status === 'paying' || order.refunds.some(({ status }) => status === 'pending');
  return (
    <>
      <PageTitle lead={lead}>{title}</PageTitle>
      <div className="grid grid-cols-1 gap-6">
        <OrderView order={order} />
        <RefundList refunds={order.refunds} />
        {own?.paymentIntent ? (
          <RefundForm
            action={giveMoneyBack}
            initialKey={await issueKey(refund)}
            orderId={own.id}
            refundableCents={own.refundableCents}
          />
        ) : null}
        {own && (own.status === 'pending' || own.status === 'cancelled') ? (
          <CancelForm
            action={cancel}
            initialKey={await issueKey(cancelOrder)}
            orderId={own.id}
            isPossible={own.status === 'pending'}
          />
        ) : null}
      </div>
      {isOpen ? <KeepFresh /> : null}
      <p className="mt-6">
        <TextLink href="/">Back to the shop</TextLink>
      </p>
    </>
  );
}
