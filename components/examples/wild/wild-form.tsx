'use client';

import { IdempotentForm, type SubmitAction } from 'oncekit/react';
import type { ReactNode } from 'react';
import type { MugOrder } from '../../../shop/lab/example-forms.ts';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/field.tsx';

export interface WildProps<R = MugOrder> {
  action: SubmitAction<R>;
  intent: string;
  initialKey: string;
}

/** Orders mugs, with whatever else stands in the form. */
export function WildForm<R extends MugOrder = MugOrder>({
  children,
  buttons,
  ...props
}: WildProps<R> & { children?: ReactNode; buttons?: ReactNode }) {
  return (
    <IdempotentForm {...props} noValidate className="grid gap-4">
      <Field label="Quantity" name="quantity" inputMode="numeric" defaultValue="1" />
      {children}
      <div className="flex flex-wrap gap-3">{buttons ?? <Button>Order</Button>}</div>
    </IdempotentForm>
  );
}
