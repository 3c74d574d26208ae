'use client';

import { IdempotencyKeyField, type SubmitAction, useIdempotentSubmit } from 'oncekit/react';
import type { PlacedOrder } from '../../lib/demo/orders.ts';
import { type Choice, GoodsFields } from '../lab/goods-fields.tsx';
import { OrderAnswer } from '../lab/order-answer.tsx';
import { Button } from '../ui/button.tsx';

interface Props {
  action: SubmitAction<PlacedOrder>;
  initialKey: string;
  products: readonly Choice[];
}

/** The kit's form as it is everywhere: that next-safe-action stands behind the action is not seen from here. */
export function SafeActionForm({ action, initialKey, products }: Props) {
  const submit = useIdempotentSubmit(action, { intent: 'example.next-safe-action:demo', initialKey });
  const refused = submit.result?.ok === false ? submit.result : null;
  return (
    <form {...submit.formProps} noValidate className="grid gap-4">
      <IdempotencyKeyField {...submit.fieldProps} />
      <GoodsFields products={products} errors={refused?.fieldErrors} values={refused?.values} />
      <Button>Place order</Button>
      <OrderAnswer submit={submit} href="/examples/next-safe-action" />
    </form>
  );
}
