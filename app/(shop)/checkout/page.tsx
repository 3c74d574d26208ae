import { issueKey } from 'oncekit/next';
import { CartSummary } from '../../../components/shop/cart-summary.tsx';
import { CheckoutArea } from '../../../components/shop/checkout-area.tsx';
import { EmptyCart } from '../../../components/shop/empty-cart.tsx';
import { GivenUp } from '../../../components/shop/given-up.tsx';
import { PageTitle } from '../../../components/ui/page-title.tsx';
import { TextLink } from '../../../components/ui/text-link.tsx';
import { findCart } from '../../../shop/orders/carts.ts';
import { checkout } from '../../../shop/orders/checkout.ts';
import { paymentChoices } from '../../../shop/payments/payment-methods.ts';
import { currentSession } from '../../../shop/session/visitor.ts';
import { buy } from '../actions.ts';
import { placeOrder } from './actions.ts';

export const metadata = { title: 'Checkout' };

/** Where the form says it, in a part that comes later, which is never shown without JavaScript. */
const NONE = (
  <noscript>
    <p>
      This cart belongs to another visit. If you were signed in when you filled it,{' '}
      <TextLink href="/sign-in">sign in</TextLink> to see it. Or{' '}
      <TextLink href="/">choose something in the shop</TextLink>.
    </p>
  </noscript>
);

export default async function CheckoutPage({ searchParams }: { searchParams: Promise<{ cart?: string | string[] }> }) {
  const session = await currentSession();
  const wanted = [(await searchParams).cart].flat()[0];
  const cart = session && (await findCart(session, wanted));
  const cartId = cart?.id ?? wanted;
  if (!cartId) {
    return (
      <>
        <PageTitle>Checkout</PageTitle>
        <EmptyCart />
      </>
    );
  }
  return (
    <>
      <PageTitle>Checkout</PageTitle>
      <CheckoutArea
        action={placeOrder}
        buy={buy}
        initialKey={session && (await issueKey(checkout))}
        cart={cart}
        summary={cart ? <CartSummary cart={cart} /> : null}
        cartId={cartId}
        account={session?.account}
        paymentChoices={paymentChoices}
        givenUp={cart?.givenUp ? <GivenUp orderId={cart.givenUp} /> : null}
        none={NONE}
      />
    </>
  );
}
