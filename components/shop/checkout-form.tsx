'use client';

import { ErrorSummary, IdempotencyKeyField, type SubmitAction, SubmitStatus, useIdempotentSubmit } from 'oncekit/react';
import { lazy, type ReactNode, Suspense, useEffect, useRef, useState } from 'react';
import type { CartView } from '../../shop/orders/carts.ts';
import type { PlacedOrder } from '../../shop/orders/orders.ts';
import type { PaymentChoice } from '../../shop/payments/payment-methods.ts';
import { IdempotentSubmitButton } from '../form/idempotent-submit-button.tsx';
import { formatCents } from '../ui/money.ts';
import { Notice } from '../ui/notice.tsx';
import { Panel } from '../ui/panel.tsx';
import { TextLink } from '../ui/text-link.tsx';
import { CheckoutFields } from './checkout-fields.tsx';
import { beingPaid, CHECKOUT_WORDS, RELOADED_WORDS } from './checkout-words.ts';
import { FirstAnswer, isMismatch } from './first-answer.tsx';
import { KeepFresh } from './keep-fresh.tsx';
import { AlreadyPlaced, OrderLink } from './placed-order.tsx';
import { RefreshPlain } from './refresh-plain.tsx';
import { takeLostFocus } from './take-lost-focus.ts';
import { isGivenUp, isUnsettled, useFreshPage } from './use-end.ts';
import { useOtherSession } from './use-other-session.ts';

// Seldom needed, so no part of what everybody loads.
const OtherSession = lazy(async () => ({ default: (await import('./other-session.tsx')).OtherSession }));
const CartOfOthers = lazy(async () => ({ default: (await import('./other-session.tsx')).CartOfOthers }));

/**
 * As high as the button and most of what is said above it, so that the page stands still. While the order is placed, the
 * button itself says so, and the words are for those who hear them.
 */
const AREA = [
  'grid content-end gap-3 not-data-over:min-h-38 sm:not-data-over:min-h-33',
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
  /** Shows what is in the cart. */
  summary: ReactNode;
  cartId: string;
  account: string | undefined;
  /** The session that asks has this cart. */
  isOurs: boolean;
  paymentChoices: readonly PaymentChoice[];
  /** Said above the fields of a cart that may have been paid before. */
  givenUp: ReactNode;
  /** Stands for a cart that is not this session's, until its words have come. */
  none: ReactNode;
}

export function CheckoutForm(props: Props) {
  const { action, buy, initialKey, cart, summary, cartId, account, isOurs, paymentChoices, givenUp, none } = props;
  const submit = useIdempotentSubmit(action, { intent: `checkout:${cartId}`, initialKey });
  const { result, status } = submit;
  const isInDoubt = useOtherSession(submit, isOurs);
  const [entered, setEntered] = useState<FormData | null>(null);
  const mismatch = isMismatch(result) ? result : null;
  const found = status === 'hasSucceeded' && result?.ok ? result.data.id : null;
  const isSent = isUnsettled(submit) || isGivenUp(submit);
  useFreshPage(`${found ?? isSent}`);
  const area = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isSent) takeLostFocus(area.current);
  }, [isSent]);
  // That order is still being paid: this form, or the one in another tab, is told how it ends.
  const order = cart?.order ?? null;
  const isBeingPaid = order?.status === 'paying';
  const placed = (isBeingPaid ? null : order?.id) ?? found;
  if (placed) return <AlreadyPlaced {...{ orderId: placed, order, entered, paymentChoices }} />;
  if (!cart && status === 'idle') {
    return (
      <Suspense fallback={none}>
        <CartOfOthers cartId={cartId} />
      </Suspense>
    );
  }
  // A refusal is old news while a later submit is in doubt; what was entered stays.
  const isSaid = status === 'hasErrored' || status === 'executing';
  const refused = result && !result.ok ? result : null;
  const said = isSaid ? refused : null;
  // A person who comes back to a form that was sent is told what became of it before there is anything to fill in.
  const isLookingUp = status === 'checking' && !result && !entered;
  const isAway = !isOurs && !submit.isPending;
  const isOver = isSent || (isBeingPaid && /idle|checking|unknown/.test(status));
  const isOpen = cart && !isLookingUp && !isOver;
  const words = entered ? CHECKOUT_WORDS : RELOADED_WORDS;
  return (
    <div className={`grid items-start gap-6 ${cart && !isOver ? 'lg:grid-cols-[minmax(0,1fr)_22rem]' : ''}`}>
      {cart && !isOver ? <div className="lg:sticky lg:top-6 lg:order-last">{summary}</div> : null}
      {/* The server's words stand beside their fields, with and without JavaScript; the browser's bubbles would differ. */}
      <form
        {...submit.formProps}
        noValidate
        onInputCapture={({ currentTarget }) => setEntered(new FormData(currentTarget))}
      >
        <IdempotencyKeyField {...submit.fieldProps} />
        <input type="hidden" name="cart_id" value={cartId} />
        <Panel className="grid gap-6">
          {cart ? (
            <div className={`grid gap-6 ${submit.isPending ? OLD_ERRORS : ''}`} hidden={!isOpen}>
              {givenUp}
              <CheckoutFields paymentChoices={paymentChoices} errors={said?.fieldErrors} values={refused?.values} />
            </div>
          ) : null}
          {isAway ? (
            <Suspense>
              <OtherSession cart={cart} cartId={cartId} account={account} isInDoubt={isInDoubt} buy={buy} />
            </Suspense>
          ) : (
            <div className={AREA} data-over={isOver || undefined} tabIndex={-1} ref={area}>
              {isBeingPaid && status === 'idle' ? <BeingPaid /> : null}
              {cart && isOpen && (status === 'idle' || status === 'executing') ? <ToPay cart={cart} /> : null}
              <SubmitStatus submit={submit} messages={isBeingPaid ? beingPaid(words) : words} />
              <ErrorSummary submit={submit} className="error-summary" />
              <WayOn reason={said?.reason ?? said?.code} cartId={cartId} />
              {mismatch ? <FirstAnswer mismatch={mismatch} freshHref={`/checkout?cart=${cartId}`} /> : null}
              {order ? <OrderLink id={order.id} /> : null}
              {isBeingPaid ? <RefreshPlain href={`/orders/${order.id}`} /> : null}
              {isOpen ? (
                <IdempotentSubmitButton
                  submit={submit}
                  busyWords={status === 'offline' ? 'Waiting until you are online…' : 'Placing your order…'}
                  className="w-full sm:min-h-12"
                >
                  Place order
                </IdempotentSubmitButton>
              ) : null}
            </div>
          )}
        </Panel>
      </form>
    </div>
  );
}

/** Instead of a form, where nothing was sent from here: another tab has, or this one before it could run scripts. */
function BeingPaid() {
  return (
    <Notice tone="info">
      This cart is being paid for just now. Please do not pay again. You can close this page.
      <KeepFresh />
    </Notice>
  );
}

function ToPay({ cart }: { cart: CartView }) {
  return (
    <p className="text-center text-sm text-muted">
      You pay <strong className="font-medium text-ink tabular-nums">{formatCents(cart.amountCents)}</strong>, once.
    </p>
  );
}

/** Behind a refusal: where to go from here. */
function WayOn({ reason, cartId }: { reason: string | undefined; cartId: string }) {
  if (reason === 'out_of_stock') return <TextLink href="/">Choose something else</TextLink>;
  if (reason === 'marked_failed') return <TextLink href="/">Start a new order</TextLink>;
  if (reason !== 'key_expired' && reason !== 'already_done') return null;
  return (
    // A plain link: the page is fetched anew, and says whether this cart has become an order.
    <a href={`/checkout?cart=${cartId}`} className="font-medium text-accent underline underline-offset-2">
      See whether it was ordered
    </a>
  );
}
