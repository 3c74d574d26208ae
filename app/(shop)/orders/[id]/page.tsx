import { notFound } from 'next/navigation';
import { issueKey } from 'oncekit/next';
import { CancelForm } from '../../../../components/shop/cancel-form.tsx';
import { KeepFresh } from '../../../../components/shop/keep-fresh.tsx';
import { LookAgain } from '../../../../components/shop/look-again.tsx';
import { OrderHeading } from '../../../../components/shop/order-heading.tsx';
import { OrderView } from '../../../../components/shop/order-view.tsx';
import { RefreshPlain } from '../../../../components/shop/refresh-plain.tsx';
import { RefundForm } from '../../../../components/shop/refund-form.tsx';
import { RefundList } from '../../../../components/shop/refund-list.tsx';
import { TextLink } from '../../../../components/ui/text-link.tsx';
import { isAdmin } from '../../../../shop/admin/session.ts';
import { cancelOrder } from '../../../../shop/orders/cancel.ts';
import { findAnyOrder, findOrder } from '../../../../shop/orders/orders.ts';
import { paymentOf } from '../../../../shop/orders/payment-answer.ts';
import { refund } from '../../../../shop/payments/refund.ts';
import { currentPrincipal } from '../../../../shop/session/visitor.ts';
import { cancel, giveMoneyBack } from './actions.ts';

export const metadata = { title: 'Your order' };

export default async function OrderPage({ params }: { params: Promise<{ id: string }> }) {
  const { id } = await params;
  const own = await findOrder(id, await currentPrincipal());
  const order = own ?? ((await isAdmin()) ? await findAnyOrder(id) : null);
  if (!order) notFound();
  const isOpen = order.status === 'paying' || order.refunds.some(({ status }) => status === 'pending');
  const payment = await paymentOf(order);
  // Without JavaScript nothing looks by itself where a person may be typing an amount, or where it may take hours.
  const isLeft = own?.paymentIntent && own.refundableCents > 0;
  const looksByItself = isOpen && !payment.isUnknown && !isLeft;
  const isCancellable = own?.status === 'pending' || own?.status === 'cancelled';
  return (
    <>
      <OrderHeading status={order.status} isOwn={own !== null} payment={payment} />
      <div className="grid grid-cols-1 items-start gap-6 lg:grid-cols-[minmax(0,1fr)_22rem]">
        <OrderView order={order} payment={payment.answer} />
        <div className="grid gap-6">
          {own?.paymentIntent ? (
            <RefundForm
              action={giveMoneyBack}
              initialKey={await issueKey(refund)}
              orderId={own.id}
              refundableCents={own.refundableCents}
            />
          ) : null}
          {own && isCancellable ? (
            <CancelForm
              action={cancel}
              initialKey={await issueKey(cancelOrder)}
              orderId={own.id}
              isPossible={own.status === 'pending'}
            />
          ) : null}
          <p className="flex flex-wrap gap-x-6 gap-y-3">
            {isOpen && !looksByItself ? <LookAgain /> : null}
            {own ? (
              <TextLink href="/mailbox" prefetch={false}>
                Receipts in your mailbox
              </TextLink>
            ) : null}
            <TextLink href="/">Back to the shop</TextLink>
          </p>
        </div>
        <div className="min-w-0 lg:col-span-2">
          <RefundList refunds={order.refunds} failed={payment.failedRefunds} />
        </div>
      </div>
      {isOpen ? <KeepFresh /> : null}
      {looksByItself ? <RefreshPlain /> : null}
    </>
  );
}
