'use client';

import type { Outcome } from 'oncekit';
import { IdempotencyKeyField, type SubmitAction, useIdempotentSubmit } from 'oncekit/react';
import { useMemo } from 'react';
import { useForm } from 'react-hook-form';
import type { PlacedOrder } from '../../shop/orders/orders.ts';
import type { Choice } from '../lab/goods-fields.tsx';
import { OrderAnswer } from '../lab/order-answer.tsx';
import { Button } from '../ui/button.tsx';
import { Field, SelectField } from '../ui/field.tsx';

interface Props {
  action: SubmitAction<PlacedOrder>;
  initialKey: string;
  products: readonly Choice[];
}

interface Fields {
  sku: string;
  quantity: string;
}

/** An order form with react-hook-form: it validates in the browser, the kit sends. */
export function HookForm({ action, initialKey, products }: Props) {
  const submit = useIdempotentSubmit(action, { intent: 'example.react-hook-form:demo', initialKey });
  const errors = useMemo(() => refusedFields(submit.result), [submit.result]);
  // No `defaultValues`: they would replace what the answer to a native submit shows. The inputs have theirs.
  const { register, handleSubmit, formState } = useForm<Fields>({ errors });
  // The form as the browser sees it, and not `values`: a native submit of it then has the same fingerprint.
  const send = handleSubmit((_values, event) => submit.executeAsync(new FormData(event?.target)));

  const entered = submit.result?.ok === false ? submit.result.values : undefined;
  const { sku, quantity } = formState.errors;
  return (
    <form {...submit.formProps} onSubmit={send} noValidate className="grid gap-4">
      <IdempotencyKeyField {...submit.fieldProps} />
      <SelectField
        label="Product"
        {...register('sku')}
        defaultValue={String(entered?.sku ?? products[0]?.sku ?? '')}
        errors={sku?.message ? [sku.message] : undefined}
      >
        {products.map(({ sku, name, stock }) => (
          <option key={sku} value={sku}>
            {name} ({stock.toLocaleString('en-US')} left)
          </option>
        ))}
      </SelectField>
      <Field
        label="Quantity"
        inputMode="numeric"
        {...register('quantity', { required: 'How many?', min: { value: 1, message: 'At least one.' } })}
        defaultValue={String(entered?.quantity ?? 1)}
        errors={quantity?.message ? [quantity.message] : undefined}
      />
      <Button>Place order</Button>
      <OrderAnswer submit={submit} href="/examples/react-hook-form" />
    </form>
  );
}

/**
 * The errors of the server, as react-hook-form keeps them. Only fields that are registered: it never clears the error of
 * another name, and does not submit while there is one.
 */
function refusedFields(result: Outcome<unknown> | null) {
  if (!result || result.ok || !result.fieldErrors) return undefined;
  const { sku, quantity } = result.fieldErrors;
  return {
    ...(sku && { sku: { type: 'server', message: sku.join(' ') } }),
    ...(quantity && { quantity: { type: 'server', message: quantity.join(' ') } }),
  };
}
