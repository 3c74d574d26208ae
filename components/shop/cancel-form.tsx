'use client';

import { IdempotencyKeyField, type SubmitAction, SubmitStatus, useIdempotentSubmit } from 'oncekit/react';
import type { PlacedOrder } from '../../lib/demo/orders.ts';
import { Button } from '../ui/button.tsx';

interface Props {
  action: SubmitAction<PlacedOrder>;
  initialKey: string;
  orderId: string;
  /** The order is not paid yet, nor being paid. */
  isPossible: boolean;
}

const WORDS = { hasSucceeded: 'The order is cancelled.', recovered: 'The order was already cancelled.' };

export function CancelForm({ action, initialKey, orderId, isPossible }: Props) {
  const submit = useIdempotentSubmit(action, { intent: `order.cancel:${orderId}`, initialKey });
  return (
    <form {...submit.formProps} className="grid gap-3">
      <IdempotencyKeyField {...submit.fieldProps} />
      <input type="hidden" name="order_id" value={orderId} />
      {isPossible ? (
        <Button variant="quiet" aria-busy={submit.isPending}>
          Cancel this order
        </Button>
      ) : null}
      <SubmitStatus submit={submit} messages={WORDS} />
    </form>
  );
}
