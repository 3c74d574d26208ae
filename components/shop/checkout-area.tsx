'use client';

import type { SubmitAction } from 'oncekit/react';
import { type ReactNode, useState } from 'react';
import type { CartView } from '../../shop/orders/carts.ts';
import type { PlacedOrder } from '../../shop/orders/orders.ts';
import type { PaymentChoice } from '../../shop/payments/payment-methods.ts';
import { CheckoutForm } from './checkout-form.tsx';

interface Props {
  action: SubmitAction<PlacedOrder>;
  /** Puts goods into a cart of their own, and leads to its checkout. */
  buy: (goods: FormData) => Promise<void>;
  /** Null where nobody acts any more. */
  initialKey: string | null;
  /** Null where the session that asks has no such cart: it is another one than before, or another person's. */
  cart: CartView | null;
  /** Shows what is in it. Made on the server, so that its pictures are no part of what the browser loads. */
  summary: ReactNode;
  /** The cart that is asked for. */
  cartId: string;
  /** The customer who has signed in. */
  account: string | undefined;
  paymentChoices: readonly PaymentChoice[];
  /** Said above the fields of a cart that may have been paid before. */
  givenUp: ReactNode;
  /** Stands for a cart that is not this session's, until its words have come. */
  none: ReactNode;
}

/** A cart and its form. A session that ends takes neither away: what was entered stays, with words about what to do. */
export function CheckoutArea({ cart, summary, cartId, account, initialKey, ...props }: Props) {
  const [seen, see] = useState({ cart, summary, account, initialKey });
  if (cart && seen.cart !== cart) see({ cart, summary, account, initialKey });
  const shown = cart ?? seen.cart;
  return (
    <CheckoutForm
      {...props}
      initialKey={seen.initialKey ?? ''}
      cart={shown}
      summary={cart ? summary : seen.summary}
      cartId={shown?.id ?? cartId}
      account={seen.cart ? seen.account : undefined}
      isOurs={cart !== null}
    />
  );
}
