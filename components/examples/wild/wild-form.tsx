'use client';

import { IdempotentForm, type SubmitAction } from 'oncekit/react';
import type { ReactNode } from 'react';
import type { MugOrder } from '../../../shop/lab/example-forms.ts';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/field.tsx';
import { BareForm, type PlainAction } from './bare-form.tsx';

export interface KitProps<R = MugOrder> {
  action: SubmitAction<R>;
  intent: string;
  initialKey: string;
}

/** Without a key it is the bare twin. */
export interface BareProps {
  action: PlainAction;
  initialKey?: undefined;
}

export type WildProps<R = MugOrder> = KitProps<R> | BareProps;

/** A form with the kit, or its twin. */
export function KitOrBareForm<R>({
  again,
  ...props
}: WildProps<R> & { again?: 'allow'; noValidate?: boolean; children: ReactNode }) {
  if (props.initialKey === undefined) return <BareForm {...props} className="grid gap-4" />;
  return <IdempotentForm {...props} again={again} className="grid gap-4" />;
}

/** Orders mugs, with whatever else stands in the form. */
export function WildForm<R extends MugOrder = MugOrder>({
  children,
  buttons,
  ...props
}: WildProps<R> & { children?: ReactNode; buttons?: ReactNode }) {
  return (
    <KitOrBareForm {...props} noValidate>
      <Field label="Quantity" name="quantity" inputMode="numeric" defaultValue="1" />
      {children}
      <div className="flex flex-wrap gap-3">{buttons ?? <Button>Order</Button>}</div>
    </KitOrBareForm>
  );
}
