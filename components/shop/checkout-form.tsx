'use client';

import { IdempotencyKeyField, type SubmitAction, SubmitStatus, useIdempotentSubmit } from 'oncekit/react';
import type { PlacedOrder } from '../../lib/demo/orders.ts';
import type { PaymentChoice } from '../../lib/demo/payment-methods.ts';
import { Button } from '../ui/button.tsx';
import { Notice } from '../ui/notice.tsx';
import { Panel } from '../ui/panel.tsx';
import { TextLink } from '../ui/text-link.tsx';
import { CheckoutFields } from './checkout-fields.tsx';
import { FirstAnswer, isMismatch } from './first-answer.tsx';

interface Props {
  action: SubmitAction<PlacedOrder>;
  initialKey: string;
  cartId: string;
  /** The order that this cart has become. */
  orderId: string | null;
  /** That order is still being paid: this form, or the one in another tab, is told how it ends. */
  isBeingPaid: boolean;
  paymentChoices: readonly PaymentChoice[];
}

export function CheckoutForm({ action, initialKey, cartId, orderId, isBeingPaid, paymentChoices }: Props) {
  const submit = useIdempotentSubmit(action, { intent: `checkout:${cartId}`, initialKey });
  const { result } = submit;
  const mismatch = isMismatch(result) ? result : null;
  if (orderId && !isBeingPaid) return <AlreadyPlaced orderId={orderId} notice={mismatch?.message} />;
  const refused = result && !result.ok ? result : null;
  return (
    // The server's words stand beside their fields, with and without JavaScript; the browser's bubbles would differ.
    <form {...submit.formProps} noValidate>
      <IdempotencyKeyField {...submit.fieldProps} />
      <input type="hidden" name="cart_id" value={cartId} />
      <Panel className="grid gap-6">
        {orderId && submit.status === 'idle' ? <BeingPaid orderId={orderId} /> : null}
        <CheckoutFields paymentChoices={paymentChoices} errors={refused?.fieldErrors} values={refused?.values} />
        <div className="grid gap-3">
          <Button className="w-full">Place order</Button>
          <SubmitStatus submit={submit}>{(order) => <Placed id={order.id} />}</SubmitStatus>
          <WayOn reason={refused?.reason} data={refused?.data} />
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
      Order <code className="font-mono text-sm break-all">{id}</code>, charged once. <OrderLink id={id} />
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
