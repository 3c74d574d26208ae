import { issueKey } from 'oncekit/next';
import { CartSummary } from '../../../components/shop/cart-summary.tsx';
import { CheckoutForm } from '../../../components/shop/checkout-form.tsx';
import { Empty } from '../../../components/ui/empty.tsx';
import { PageTitle } from '../../../components/ui/page-title.tsx';
import { TextLink } from '../../../components/ui/text-link.tsx';
import { findCart } from '../../../lib/demo/carts.ts';
import { checkout } from '../../../lib/demo/checkout.ts';
import { paymentChoices } from '../../../lib/demo/payment-methods.ts';
import { currentSession } from '../../../lib/demo/visitor.ts';
import { placeOrder } from './actions.ts';

export const metadata = { title: 'Checkout' };

export default async function CheckoutPage({ searchParams }: { searchParams: Promise<{ cart?: string | string[] }> }) {
  const session = await currentSession();
  const wanted = [(await searchParams).cart].flat()[0];
  const cart = session && (await findCart(session, wanted));
  if (!cart) {
    return (
      <>
        <PageTitle>Checkout</PageTitle>
        <Empty icon="cart">
          <p className="text-lg font-medium">Your cart is empty</p>
          <TextLink href="/">Choose something in the shop</TextLink>
        </Empty>
      </>
    );
  }
  return (
    <>
      <PageTitle>Checkout</PageTitle>
      <div className="grid items-start gap-6 lg:grid-cols-[minmax(0,1fr)_22rem]">
        <div className="lg:sticky lg:top-6 lg:order-last">
          <CartSummary cart={cart} />
        </div>
        <CheckoutForm
          key={cart.id}
          action={placeOrder}
          initialKey={await issueKey(checkout)}
          cartId={cart.id}
          amountCents={cart.amountCents}
          orderId={cart.orderId}
          isBeingPaid={cart.orderStatus === 'paying'}
          paymentChoices={paymentChoices}
        />
      </div>
    </>
  );
}
