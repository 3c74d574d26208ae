'use client';

import { IdempotencyKeyField, type SubmitAction, SubmitStatus, useIdempotentSubmit } from 'oncekit/react';
import type { PlacedOrder } from '../../shop/orders/orders.ts';
import { IdempotentSubmitButton } from '../form/idempotent-submit-button.tsx';

interface Props {
  action: SubmitAction<PlacedOrder>;
  initialKey: string;
  orderId: string;
  /** The order is not paid yet, nor being paid. */
  isPossible: boolean;
}

const WORDS = {
  executing: 'Cancelling your order…',
  retrying: 'No answer yet. Trying again…',
  checking: 'Finding out whether your order was cancelled…',
  unknown: 'We have no answer, so we do not know whether your order was cancelled. You can ask for it again.',
  absent: 'This has not reached us so far. You can ask for it again.',
  hasSucceeded: 'Your order is cancelled.',
  recovered: 'Your order is cancelled already.',
};

export function CancelForm({ action, initialKey, orderId, isPossible }: Props) {
  const submit = useIdempotentSubmit(action, { intent: `order.cancel:${orderId}`, initialKey });
  return (
    <form {...submit.formProps} className="ends-done grid gap-3">
      <IdempotencyKeyField {...submit.fieldProps} />
      <input type="hidden" name="order_id" value={orderId} />
      {isPossible ? (
        <IdempotentSubmitButton submit={submit} variant="quiet" busyWords="Cancelling…">
          Cancel this order
        </IdempotentSubmitButton>
      ) : null}
      <SubmitStatus submit={submit} messages={WORDS} />
    </form>
  );
}
