'use client';

import type { IdempotentSubmit } from 'oncekit/react';
import type { ParcelOrder } from '../../shop/lab/parcel-order.ts';
import { OrderAnswer } from '../lab/order-answer.tsx';

/** The outcome of the submit, and the parcel as the server has read it. */
export function ParcelAnswer({ submit, href }: { submit: IdempotentSubmit<ParcelOrder>; href: string }) {
  const { result } = submit;
  return (
    <div className="grid gap-2">
      <OrderAnswer submit={submit} href={href} />
      {result?.ok ? <p className="text-sm text-muted">{result.data.remark}</p> : null}
    </div>
  );
}
