'use client';

import { IdempotencyKeyField, type SubmitAction, SubmitStatus, useIdempotentSubmit } from 'oncekit/react';
import type { PlacedOrder } from '../../lib/demo/orders.ts';
import type { PaymentChoice } from '../../lib/demo/payment-methods.ts';
import { Button } from '../ui/button.tsx';
import { formatCents } from '../ui/money.ts';
import { Notice } from '../ui/notice.tsx';
import { Panel } from '../ui/panel.tsx';
import { TextLink } from '../ui/text-link.tsx';
import { CheckoutFields } from './checkout-fields.tsx';
import { CHECKOUT_WORDS } from './checkout-words.ts';
import { FirstAnswer, isMismatch } from './first-answer.tsx';

interface Props {
  action: SubmitAction<PlacedOrder>;
  initialKey: string;
  cartId: string;
  amountCents: number;
  /** The order that this cart has become. */
  orderId: string | null;
  /** That order is still being paid: this form, or the one in another tab, is told how it ends. */
  isBeingPaid: boolean;
  paymentChoices: readonly PaymentChoice[];
}

export function CheckoutForm({ action, initialKey, cartId, amountCents, orderId, isBeingPaid, paymentChoices }: Props) {
  const submit = useIdempotentSubmit(action, { intent: `checkout:${cartId}`, initialKey });
  const { result } = submit;
  const mismatch = isMismatch(result) ? result : null;
  if (orderId && !isBeingPaid) return <AlreadyPlaced orderId={orderId} notice={mismatch?.message} />;
  // A refusal is old news while a later submit is in doubt; what was entered stays.
  const isSaid = submit.status === 'hasErrored' || submit.status === 'executing';
  const refused = result && !result.ok ? result : null;
  const said = isSaid ? refused : null;
  return (
    // The server's words stand beside their fields, with and without JavaScript; the browser's bubbles would differ.
    <form {...submit.formProps} noValidate>
      <IdempotencyKeyField {...submit.fieldProps} />
      <input type="hidden" name="cart_id" value={cartId} />
      <Panel className="grid gap-6">
        {orderId && submit.status === 'idle' ? <BeingPaid orderId={orderId} /> : null}
        <CheckoutFields paymentChoices={paymentChoices} errors={said?.fieldErrors} values={refused?.values} />
        <div className="grid gap-3">
          <Button className="w-full sm:min-h-12" aria-busy={submit.isPending}>
            Place order
          </Button>
          {/* As high as most of what it says, so that the page stands still. */}
          <div className="grid min-h-24 content-start gap-3">
            {submit.status === 'idle' ? (
              <p className="text-center text-sm text-muted">
                You pay <strong className="font-medium text-ink tabular-nums">{formatCents(amountCents)}</strong>, once.
              </p>
            ) : null}
            <SubmitStatus submit={submit} messages={CHECKOUT_WORDS}>
              {(order) => <Placed id={order.id} />}
            </SubmitStatus>
          </div>
          <WayOn reason={said?.reason} data={said?.data} />
          {mismatch ? <FirstAnswer mismatch={mismatch} freshHref={`/checkout?cart=${cartId}`} /> : null}
        </div>
      </Panel>
    </form>
  );
}

function AlreadyPlaced({ orderId, notice }: { orderId: string; notice: string | undefined }) {
  return (
    <Panel role="status" data-state="hasSucceeded" className="grid gap-2">
      {notice ? <p className="font-medium">{notice}</p> : null}
      <p>
        This order is already placed. <Placed id={orderId} />
      </p>
      <p>
        <TextLink href="/">Start a new order</TextLink>
      </p>
    </Panel>
  );
}

function BeingPaid({ orderId }: { orderId: string }) {
  return (
    <Notice tone="info">
      This cart is being paid for just now. Your card is charged at most once.
      <OrderLink id={orderId} />
    </Notice>
  );
}

function Placed({ id }: { id: string }) {
  return (
    <>
      {' '}
      You were charged once. <OrderLink id={id} />
    </>
  );
}

function OrderLink({ id }: { id: string }) {
  return (
    <TextLink href={`/orders/${id}`} className="ml-1">
      View the order
    </TextLink>
  );
}

/** Behind a refusal: where to go from here. */
function WayOn({ reason, data }: { reason: string | undefined; data: unknown }) {
  if (reason === 'already_ordered') return <OrderLink id={String((data as { orderId?: unknown }).orderId)} />;
  if (reason === 'out_of_stock') return <TextLink href="/">Choose something else</TextLink>;
  return null;
}
