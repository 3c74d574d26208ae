'use client';

import { IdempotencyKeyField, nestErrors, useIdempotentSubmit, type ValuesAction } from 'oncekit/react';
import { useFieldArray, useForm } from 'react-hook-form';
import type { ParcelOrder } from '../../shop/lab/parcel-order.ts';
import type { Parcel } from '../../shop/lab/parcel-schema.ts';
import type { Choice } from '../lab/goods-fields.tsx';
import { Button } from '../ui/button.tsx';
import { Field } from '../ui/field.tsx';
import { ParcelAnswer } from './parcel-answer.tsx';
import { AddRow, CheckField, ExtrasField, ProductField, RemoveRow, Row, Rows } from './parcel-fields.tsx';

interface Props {
  action: ValuesAction<ParcelOrder, Parcel>;
  initialKey: string;
  products: readonly Choice[];
}

/** Rows, a checkbox, a number, a day and a list of choices with react-hook-form, which sends its values. */
export function HookRowsForm({ action, initialKey, products }: Props) {
  const submit = useIdempotentSubmit(action, { intent: 'example.react-hook-form-rows:demo', initialKey });
  const newLine = { sku: products[0]?.sku ?? '', quantity: 1 };
  const { register, control, handleSubmit, clearErrors, formState } = useForm<Parcel>({
    defaultValues: { lines: [newLine], express: false, extras: [] },
    errors: nestErrors(submit.result),
  });
  const { fields, append, remove } = useFieldArray({ control, name: 'lines' });
  const send = handleSubmit((values) => submit.executeAsync(values));
  const { errors } = formState;
  return (
    <form
      {...submit.formProps}
      onSubmit={(event) => {
        clearErrors(); // what the server refused before does not keep the form from being sent
        return send(event);
      }}
      noValidate
      className="grid gap-4"
    >
      <IdempotencyKeyField {...submit.fieldProps} />
      <Rows errors={errors.lines?.message}>
        {fields.map(({ id }, n) => (
          <Row key={id}>
            <ProductField
              products={products}
              {...register(`lines.${n}.sku`)}
              errors={listOf(errors.lines?.[n]?.sku?.message)}
            />
            <Field
              label="Quantity"
              type="number"
              {...register(`lines.${n}.quantity`, { valueAsNumber: true })}
              errors={listOf(errors.lines?.[n]?.quantity?.message)}
            />
            <RemoveRow onClick={() => remove(n)} />
          </Row>
        ))}
        <AddRow onClick={() => append(newLine)} />
      </Rows>
      <Field
        label="Deliver on"
        type="date"
        {...register('deliverOn', { valueAsDate: true })}
        errors={listOf(errors.deliverOn?.message)}
      />
      <CheckField label="Express" {...register('express')} />
      <ExtrasField {...register('extras')} />
      <Button>Place order</Button>
      <ParcelAnswer submit={submit} href="/examples/react-hook-form-rows" />
    </form>
  );
}

function listOf(message: string | undefined): string[] | undefined {
  return message === undefined ? undefined : [message];
}
