'use client';

import { type SubmitAction, useIdempotentSubmit } from 'oncekit/react';
import type { PlacedOrder } from '../../shop/orders/orders.ts';
import type { Choice } from '../lab/goods-fields.tsx';
import { OrderForm } from '../lab/order-form.tsx';

interface Props {
  action: SubmitAction<PlacedOrder>;
  initialKey: string;
  products: readonly Choice[];
}

/** The kit's form as it is everywhere: that next-safe-action stands behind the action is not seen from here. */
export function SafeActionForm({ action, initialKey, products }: Props) {
  const submit = useIdempotentSubmit(action, { intent: 'example.next-safe-action:demo', initialKey });
  return <OrderForm submit={submit} products={products} href="/examples/next-safe-action" label="Place order" />;
}
