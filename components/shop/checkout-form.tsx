'use client';

import { ErrorSummary, IdempotencyKeyField, type SubmitAction, SubmitStatus, useIdempotentSubmit } from 'oncekit/react';
import { lazy, Suspense, useState } from 'react';
import type { CartView } from '../../shop/orders/carts.ts';
import type { PlacedOrder } from '../../shop/orders/orders.ts';
import type { PaymentChoice } from '../../shop/payments/payment-methods.ts';
import { IdempotentSubmitButton } from '../form/idempotent-submit-button.tsx';
import { formatCents } from '../ui/money.ts';
import { Notice } from '../ui/notice.tsx';
import { Panel } from '../ui/panel.tsx';
import { TextLink } from '../ui/text-link.tsx';
import { CheckoutFields } from './checkout-fields.tsx';
import { CHECKOUT_WORDS, RELOADED_WORDS } from './checkout-words.ts';
import { FirstAnswer, isMismatch } from './first-answer.tsx';
import { AlreadyPlaced, OrderLink } from './placed-order.tsx';
import { RefreshPlain } from './refresh-plain.tsx';
import { useOtherSession } from './use-other-session.ts';

// Seldom needed, so no part of what everybody loads.
const OtherSession = lazy(async () => ({ default: (await import('./other-session.tsx')).OtherSession }));
const CartOfOthers = lazy(async () => ({ default: (await import('./other-session.tsx')).CartOfOthers }));

/**
 * As high as the button and most of what is said above it, so that the page stands still. While the order is placed, the
 * button itself says so, and the words are for those who hear them.
 */
const AREA = [
  'grid min-h-38 content-end gap-3 sm:min-h-33',
  '[&>[role=status]:not(:empty,:has(+ul))]:min-h-24 [&>[role=status]:not(:empty,:has(+ul))]:content-center sm:[&>[role=status]:not(:empty,:has(+ul))]:min-h-18',
  '[&>[role=status][data-state=executing]]:h-0! [&>[role=status][data-state=executing]]:min-h-0!',
  '[&>[role=status][data-state=executing]]:p-0!',
].join(' ');

/** They keep their room, so that the button stays under the pointer. */
const OLD_ERRORS = '[&_[id$=-errors]]:invisible [&_[aria-invalid]]:border-strong-line';

interface Props {
  action: SubmitAction<PlacedOrder>;
  buy: (goods: FormData) => Promise<void>;
  initialKey: string;
  /** Null where this page has never seen it. */
  cart: CartView | null;
  cartId: string;
  account: string | undefined;
  /** The session that asks has this cart. */
  isOurs: boolean;
  paymentChoices: readonly PaymentChoice[];
}

export function CheckoutForm({ action, buy, initialKey, cart, cartId, account, isOurs, paymentChoices }: Props) {
  const submit = useIdempotentSubmit(action, { intent: `checkout:${cartId}`, initialKey });
  const { result, status } = submit;
  const isInDoubt = useOtherSession(submit, isOurs);
  const [hasEntered, setEntered] = useState(false);
  const mismatch = isMismatch(result) ? result : null;
  // That order is still being paid: this form, or the one in another tab, is told how it ends.
  const isBeingPaid = cart?.orderStatus === 'paying';
  const found = status === 'hasSucceeded' && result?.ok ? result.data.id : null;
  const placed = (isBeingPaid ? null : cart?.orderId) ?? found;
  if (placed) return <AlreadyPlaced orderId={placed} notice={mismatch?.message} />;
  if (!cart && status === 'idle') {
    return (
      <Suspense>
        <CartOfOthers cartId={cartId} />
      </Suspense>
    );
  }
  // A refusal is old news while a later submit is in doubt; what was entered stays.
  const isSaid = status === 'hasErrored' || status === 'executing';
  const refused = result && !result.ok ? result : null;
  const said = isSaid ? refused : null;
  // A person who comes back to a form that was sent is told what became of it before there is anything to fill in.
  const isLookingUp = status === 'checking' && !result && !hasEntered;
  const isAway = !isOurs && !submit.isPending;
  return (
    // The server's words stand beside their fields, with and without JavaScript; the browser's bubbles would differ.
    <form {...submit.formProps} noValidate onInputCapture={() => setEntered(true)}>
      <IdempotencyKeyField {...submit.fieldProps} />
      <input type="hidden" name="cart_id" value={cartId} />
      <Panel className="grid gap-6">
        {cart ? (
          <div className={`grid gap-6 ${submit.isPending ? OLD_ERRORS : ''}`} hidden={isLookingUp}>
            <CheckoutFields paymentChoices={paymentChoices} errors={said?.fieldErrors} values={refused?.values} />
          </div>
        ) : null}
        {isAway ? (
          <Suspense>
            <OtherSession cart={cart} cartId={cartId} account={account} isInDoubt={isInDoubt} buy={buy} />
          </Suspense>
        ) : (
          <div className={AREA}>
            {cart && (status === 'idle' || status === 'executing') ? (
              <ToPay cart={cart} isBeingPaid={isBeingPaid} />
            ) : null}
            <SubmitStatus submit={submit} messages={hasEntered ? CHECKOUT_WORDS : RELOADED_WORDS} />
            <ErrorSummary submit={submit} className="error-summary" />
            <WayOn reason={said?.reason ?? said?.code} cartId={cartId} />
            {mismatch ? <FirstAnswer mismatch={mismatch} freshHref={`/checkout?cart=${cartId}`} /> : null}
            {cart && !isLookingUp ? (
              <IdempotentSubmitButton submit={submit} busyWords="Placing your order…" className="w-full sm:min-h-12">
                Place order
              </IdempotentSubmitButton>
            ) : null}
          </div>
        )}
      </Panel>
    </form>
  );
}

function ToPay({ cart, isBeingPaid }: { cart: CartView; isBeingPaid: boolean }) {
  if (isBeingPaid && cart.orderId) {
    return (
      <Notice tone="info">
        This cart is being paid for just now. Your card is charged at most once.
        <OrderLink id={cart.orderId} />
        <RefreshPlain href={`/orders/${cart.orderId}`} />
      </Notice>
    );
  }
  return (
    <p className="text-center text-sm text-muted">
      You pay <strong className="font-medium text-ink tabular-nums">{formatCents(cart.amountCents)}</strong>, once.
    </p>
  );
}

/** Behind a refusal: where to go from here. */
function WayOn({ reason, cartId }: { reason: string | undefined; cartId: string }) {
  if (reason === 'out_of_stock') return <TextLink href="/">Choose something else</TextLink>;
  if (reason !== 'key_expired' && reason !== 'already_done') return null;
  return (
    // A plain link: the page is fetched anew, and says whether this cart has become an order.
    <a href={`/checkout?cart=${cartId}`} className="font-medium text-accent underline underline-offset-2">
      See whether it was ordered
    </a>
  );
}
