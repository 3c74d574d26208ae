'use client';

import { useForm } from '@tanstack/react-form';
import { bracketErrors, IdempotencyKeyField, useIdempotentSubmit, type ValuesAction } from 'oncekit/react';
import type { ParcelOrder } from '../../shop/lab/parcel-order.ts';
import type { Parcel } from '../../shop/lab/parcel-schema.ts';
import type { Choice } from '../lab/goods-fields.tsx';
import { Button } from '../ui/button.tsx';
import { Field } from '../ui/field.tsx';
import { ParcelAnswer } from './parcel-answer.tsx';
import { AddRow, CheckField, chosenExtras, ExtrasField, ProductField, RemoveRow, Row, Rows } from './parcel-fields.tsx';

interface Props {
  action: ValuesAction<ParcelOrder, Parcel>;
  initialKey: string;
  products: readonly Choice[];
}

/** Rows, a checkbox, a number, a day and a list of choices with TanStack Form, which sends its values. */
export function TanstackForm({ action, initialKey, products }: Props) {
  const submit = useIdempotentSubmit(action, { intent: 'example.tanstack-form:demo', initialKey });
  const newLine = { sku: products[0]?.sku ?? '', quantity: 1 };
  const defaultValues: Parcel = { lines: [newLine], express: false, deliverOn: new Date(Number.NaN), extras: [] };
  const form = useForm({
    defaultValues,
    canSubmitWhenInvalid: true, // what the server refused before does not keep the form from being sent
    onSubmit: async ({ value, formApi }) => {
      const outcome = await submit.executeAsync(value);
      formApi.setErrorMap({ onSubmit: bracketErrors(outcome) });
    },
  });
  return (
    <form
      {...submit.formProps}
      onSubmit={(event) => {
        event.preventDefault();
        void form.handleSubmit();
      }}
      noValidate
      className="grid gap-4"
    >
      <IdempotencyKeyField {...submit.fieldProps} />
      <form.Field name="lines" mode="array">
        {(lines) => (
          <Rows errors={lines.state.meta.errors.join(' ')}>
            {lines.state.value.map((_, n) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: TanStack Form names a row by its place
              <Row key={n}>
                <form.Field name={`lines[${n}].sku`}>
                  {({ name, state, handleChange }) => (
                    <ProductField
                      products={products}
                      name={name}
                      value={state.value}
                      onChange={({ target }) => handleChange(target.value)}
                      errors={state.meta.errors.map(String)}
                    />
                  )}
                </form.Field>
                <form.Field name={`lines[${n}].quantity`}>
                  {({ name, state, handleChange }) => (
                    <Field
                      label="Quantity"
                      type="number"
                      name={name}
                      value={Number.isNaN(state.value) ? '' : state.value}
                      onChange={({ target }) => handleChange(target.valueAsNumber)}
                      errors={state.meta.errors.map(String)}
                    />
                  )}
                </form.Field>
                <RemoveRow onClick={() => lines.removeValue(n)} />
              </Row>
            ))}
            <AddRow onClick={() => lines.pushValue(newLine)} />
          </Rows>
        )}
      </form.Field>
      <form.Field name="deliverOn">
        {({ name, state, handleChange }) => (
          <Field
            label="Deliver on"
            type="date"
            name={name}
            onChange={({ target }) => handleChange(target.valueAsDate ?? new Date(Number.NaN))}
            errors={state.meta.errors.map(String)}
          />
        )}
      </form.Field>
      <form.Field name="express">
        {({ name, state, handleChange }) => (
          <CheckField
            label="Express"
            name={name}
            checked={state.value}
            onChange={({ target }) => handleChange(target.checked)}
          />
        )}
      </form.Field>
      <form.Field name="extras">
        {({ name, state, handleChange }) => (
          <ExtrasField
            name={name}
            value={state.value}
            onChange={({ target }) => handleChange(chosenExtras(target))}
            errors={state.meta.errors.map(String)}
          />
        )}
      </form.Field>
      <Button>Place order</Button>
      <ParcelAnswer submit={submit} href="/examples/tanstack-form" />
    </form>
  );
}
