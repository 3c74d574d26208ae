'use client';

import { IdempotencyKeyField, SubmitStatus, useIdempotentSubmit } from 'oncekit/react';
import { Button } from '../../ui/button.tsx';
import { Field, SelectField } from '../../ui/field.tsx';
import type { WildProps } from './wild-form.tsx';

/** An order whose fields stand beside its form, as in a summary with a button of its own. */
export function TiedForm({ action, ...options }: WildProps) {
  const submit = useIdempotentSubmit(action, options);
  const { id } = submit.formProps;
  return (
    <div className="grid gap-4">
      <Field form={id} label="Quantity" name="quantity" type="number" defaultValue="1" />
      <SelectField form={id} label="Wrapping" name="wrap" defaultValue="none">
        <option value="none">None</option>
        <option value="paper">Paper</option>
        <option value="box">A box</option>
      </SelectField>
      <form {...submit.formProps} noValidate className="grid gap-4">
        <IdempotencyKeyField {...submit.fieldProps} />
        <div>
          <Button>Order</Button>
        </div>
        <SubmitStatus submit={submit} />
      </form>
    </div>
  );
}
