'use client';

import type { IdempotentSubmit } from 'oncekit/react';
import type { MugOrder } from '../../shop/lab/example-forms.ts';
import { OrderAnswer } from '../lab/order-answer.tsx';

/** The outcome of the submit, and what was special about the order. */
export function MugAnswer({ submit }: { submit: IdempotentSubmit<MugOrder> }) {
  const { result } = submit;
  return (
    <div className="grid gap-2">
      <OrderAnswer submit={submit} href="/examples/forms" />
      {result?.ok ? (
        <p className="text-sm text-muted">
          {result.data.quantity} × mug, {result.data.remark}
        </p>
      ) : null}
    </div>
  );
}
