'use client';

import { type SubmitAction, useIdempotentSubmit } from 'oncekit/react';
import type { PlacedOrder } from '../../lib/demo/orders.ts';
import type { Choice } from './goods-fields.tsx';
import { OrderForm } from './order-form.tsx';

interface Props {
  action: SubmitAction<PlacedOrder>;
  initialKey: string;
  products: readonly Choice[];
}

export function KitForm({ action, initialKey, products }: Props) {
  const submit = useIdempotentSubmit(action, { intent: 'lab.order:lab', initialKey });
  return <OrderForm submit={submit} products={products} href="/lab" label="Order with oncekit" />;
}
