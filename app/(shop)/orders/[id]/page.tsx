import { notFound } from 'next/navigation';
import { OrderView } from '../../../../components/shop/order-view.tsx';
import { PageTitle } from '../../../../components/ui/page-title.tsx';
import { TextLink } from '../../../../components/ui/text-link.tsx';
import { isAdmin } from '../../../../lib/demo/admin-session.ts';
import { findAnyOrder, findOrder } from '../../../../lib/demo/orders.ts';
import { currentPrincipal } from '../../../../lib/demo/visitor.ts';

export const metadata = { title: 'Your order' };

export default async function OrderPage({ params }: { params: Promise<{ id: string }> }) {
  const { id } = await params;
  const own = await findOrder(id, await currentPrincipal());
  const order = own ?? ((await isAdmin()) ? await findAnyOrder(id) : null);
  if (!order) notFound();
  return (
    <>
      <PageTitle lead={own ? 'We have it, once. You can close this page.' : 'You see this order as an admin.'}>
        {own ? 'Thank you for your order' : 'Order'}
      </PageTitle>
      <OrderView order={order} />
      <p className="mt-6">
        <TextLink href="/">Back to the shop</TextLink>
      </p>
    </>
  );
}
