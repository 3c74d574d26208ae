'use client';

import { useTransition } from 'react';
import type { CartView } from '../../shop/orders/carts.ts';
import { BusyButton } from '../ui/busy-button.tsx';
import { buttonClass } from '../ui/button.tsx';
import { Empty } from '../ui/empty.tsx';
import { Icon } from '../ui/icon.tsx';
import { TextLink } from '../ui/text-link.tsx';
import { KeepFresh } from './keep-fresh.tsx';
import { takeLostFocus } from './take-lost-focus.ts';

interface Props {
  /** Null where this page has not seen it in its own session. */
  cart: CartView | null;
  cartId: string;
  /** The customer who was signed in. */
  account: string | undefined;
  isInDoubt: boolean;
  buy: (goods: FormData) => Promise<void>;
}

/** A cart that this browser has neither seen nor ordered in its present session. */
export function CartOfOthers({ cartId }: { cartId: string }) {
  return (
    <Empty icon="cart">
      <div className="grid gap-1">
        <p className="text-lg font-medium">This cart belongs to another visit</p>
        <p className="text-muted">If you were signed in when you filled it, sign in to see it.</p>
        <p className="text-muted">If your browser blocks cookies, allow them for this shop.</p>
      </div>
      <SignIn cartId={cartId} words="Sign in" />
      <TextLink href="/">Choose something in the shop</TextLink>
    </Empty>
  );
}

/** In the place of the button: why nothing can be sent, what was and was not done, and the one thing to do. */
export function OtherSession({ cart, cartId, account, isInDoubt, buy }: Props) {
  const isGuest = cart !== null && account === undefined;
  return (
    <div
      role="alert"
      ref={takeLostFocus}
      tabIndex={-1}
      className="grid justify-items-start gap-3 rounded-lg bg-warn-surface px-4 py-4 text-warn"
    >
      <p className="flex items-center gap-2 font-semibold">
        <Icon name="lost" />
        {titleOf(cart, account, isInDoubt)}
      </p>
      <p>{wordsOf(cart, account, isInDoubt)}</p>
      {isGuest && !isInDoubt ? <CarryOn cart={cart} buy={buy} /> : null}
      {/* Signed in again in another tab, the person comes back to a form that knows it. */}
      {cart ? <KeepFresh /> : null}
      {isGuest ? null : <SignIn cartId={cartId} words="Sign in again" holdsValues={cart !== null} />}
    </div>
  );
}

function titleOf(cart: CartView | null, account: string | undefined, isInDoubt: boolean): string {
  if (account !== undefined) return `You are no longer signed in as ${account}`;
  if (cart) return 'Your visit has ended, for example because cookies were deleted or are blocked';
  return isInDoubt ? 'This order was sent in another visit' : 'Your visit had ended before this was sent';
}

function wordsOf(cart: CartView | null, account: string | undefined, isInDoubt: boolean): string {
  const isGuest = cart !== null && account === undefined;
  if (isInDoubt && isGuest) {
    return 'Your order may have been placed, and this page can no longer find out. If it was, a receipt comes to the e-mail address you entered. Wait for it before you order again.';
  }
  if (isInDoubt) {
    const words =
      'Your order may have been placed. Do not order again: sign in as before, and this page shows what became of it.';
    return cart ? words : `${words} If you ordered as a guest, wait for the receipt in your mail.`;
  }
  if (isGuest) return 'Nothing was ordered. What you entered is still here.';
  if (cart) return 'Nothing was ordered. What you entered stays here while you sign in.';
  return 'Nothing was ordered. If you were signed in, sign in again to go on with this cart.';
}

function CarryOn({ cart, buy }: { cart: CartView; buy: Props['buy'] }) {
  const [isBusy, start] = useTransition();
  const carryOn = () => {
    const goods = new FormData();
    goods.set('sku', cart.sku);
    goods.set('quantity', String(cart.quantity));
    start(() => buy(goods));
  };
  return (
    <BusyButton type="button" isBusy={isBusy} busyWords="One moment…" onClick={isBusy ? undefined : carryOn}>
      Carry on
    </BusyButton>
  );
}

function SignIn({ cartId, words, holdsValues }: { cartId: string; words: string; holdsValues?: boolean }) {
  const to = (next: string) => `/sign-in?${new URLSearchParams({ next })}`;
  // In a tab of its own, where this one holds what was entered: values are stored nowhere.
  return holdsValues ? (
    <a href={to('/sign-in/done')} target="_blank" rel="noreferrer" className={buttonClass()}>
      {words}
      <span className="sr-only"> (opens another tab)</span>
    </a>
  ) : (
    <a href={to(`/checkout?cart=${cartId}`)} className={buttonClass()}>
      {words}
    </a>
  );
}
