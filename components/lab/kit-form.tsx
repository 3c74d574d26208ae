'use client';

import { IdempotencyKeyField, type SubmitAction, useIdempotentSubmit } from 'oncekit/react';
import type { PlacedOrder } from '../../lib/demo/orders.ts';
import { Button } from '../ui/button.tsx';
import { type Choice, GoodsFields } from './goods-fields.tsx';
import { OrderAnswer } from './order-answer.tsx';

interface Props {
  action: SubmitAction<PlacedOrder>;
  initialKey: string;
  products: readonly Choice[];
}

export function KitForm({ action, initialKey, products }: Props) {
  const submit = useIdempotentSubmit(action, { intent: 'lab.order:lab', initialKey });
  const { result } = submit;
  const refused = result && !result.ok ? result : null;
  return (
    <form {...submit.formProps} noValidate className="grid gap-4">
      <IdempotencyKeyField {...submit.fieldProps} />
      <GoodsFields products={products} errors={refused?.fieldErrors} values={refused?.values} />
      <Button>Order with oncekit</Button>
      <OrderAnswer submit={submit} href="/lab" />
    </form>
  );
}
