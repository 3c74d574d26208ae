'use client';

import { getFormProps, getInputProps, getSelectProps, parse, type SubmissionResult, useForm } from '@conform-to/react';
import { parseWithZod } from '@conform-to/zod/v4';
import type { Outcome } from 'oncekit';
import { IdempotencyKeyField, useIdempotentSubmit, type ValuesAction } from 'oncekit/react';
import { useMemo } from 'react';
import type { ParcelOrder } from '../../shop/lab/parcel-order.ts';
import { type Parcel, parcelSchema } from '../../shop/lab/parcel-schema.ts';
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

// conform leaves out a box that is off.
const schema = parcelSchema.extend({ express: parcelSchema.shape.express.default(false) });
// The shop's fields say themselves which words describe them.
const FIELD = { ariaAttributes: false } as const;

/** Rows, a checkbox, a number, a day and a list of choices with conform, which validates by the schema. */
export function ConformForm({ action, initialKey, products }: Props) {
  const submit = useIdempotentSubmit(action, { intent: 'example.conform:demo', initialKey });
  // One object for one answer: conform takes another for another answer.
  const lastResult = useMemo(() => refusedSubmission(submit.result), [submit.result]);
  const newLine = { sku: products[0]?.sku ?? '', quantity: '1' };
  const [form, fields] = useForm({
    id: submit.formProps.id,
    defaultValue: { lines: [newLine] },
    lastResult,
    onValidate: ({ formData }) => parseWithZod(formData, { schema }),
    onSubmit: (event, { formData }) => {
      event.preventDefault();
      submit.execute(formData);
    },
  });
  return (
    <form {...submit.formProps} {...getFormProps(form)} className="grid gap-4">
      <IdempotencyKeyField {...submit.fieldProps} />
      <Rows errors={fields.lines.errors?.join(' ')}>
        {fields.lines.getFieldList().map(({ key, getFieldset }, index) => {
          const { sku, quantity } = getFieldset();
          return (
            <Row key={key}>
              <ProductField products={products} {...getSelectProps(sku, FIELD)} key={sku.key} errors={sku.errors} />
              <Field
                label="Quantity"
                {...getInputProps(quantity, { ...FIELD, type: 'number' })}
                key={quantity.key}
                errors={quantity.errors}
              />
              <RemoveRow onClick={() => form.remove({ name: fields.lines.name, index })} />
            </Row>
          );
        })}
        <AddRow onClick={() => form.insert({ name: fields.lines.name, defaultValue: newLine })} />
      </Rows>
      <Field
        label="Deliver on"
        {...getInputProps(fields.deliverOn, { ...FIELD, type: 'date' })}
        key={fields.deliverOn.key}
        errors={fields.deliverOn.errors}
      />
      <CheckField label="Express" {...getInputProps(fields.express, { type: 'checkbox' })} key={fields.express.key} />
      <ExtrasField {...getSelectProps(fields.extras, FIELD)} key={fields.extras.key} errors={fields.extras.errors} />
      <Button>Place order</Button>
      <ParcelAnswer submit={submit} href="/examples/conform" />
    </form>
  );
}

/** A refusal as conform keeps it: the errors, and the entered values, also behind a native post. */
function refusedSubmission(result: Outcome<unknown> | null): SubmissionResult | undefined {
  if (result?.ok !== false || !result.fieldErrors) return undefined;
  const error = result.fieldErrors;
  const entered = new FormData();
  for (const [name, value] of Object.entries(result.values ?? {})) {
    for (const one of [value].flat()) entered.append(name, one);
  }
  return parse(entered, { resolve: () => ({ error }) }).reply();
}
