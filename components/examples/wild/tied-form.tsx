'use client';

import { IdempotencyKeyField, SubmitStatus, useIdempotentSubmit } from 'oncekit/react';
import { useId } from 'react';
import { Button } from '../../ui/button.tsx';
import { Field, SelectField } from '../../ui/field.tsx';
import { BareForm } from './bare-form.tsx';
import type { BareProps, KitProps, WildProps } from './wild-form.tsx';

/** An order whose fields stand beside its form, as in a summary with a button of its own. */
export function TiedForm(props: WildProps) {
  return (
    <div className="grid gap-4">
      {props.initialKey === undefined ? <WithoutKit {...props} /> : <WithKit {...props} />}
    </div>
  );
}

function WithKit({ action, ...options }: KitProps) {
  const submit = useIdempotentSubmit(action, options);
  return (
    <>
      <TiedFields form={submit.formProps.id} />
      <form {...submit.formProps} noValidate className="grid gap-4">
        <IdempotencyKeyField {...submit.fieldProps} />
        <OrderButton />
        <SubmitStatus submit={submit} />
      </form>
    </>
  );
}

function WithoutKit({ action }: BareProps) {
  const id = useId();
  return (
    <>
      <TiedFields form={id} />
      <BareForm action={action} id={id} noValidate className="grid gap-4">
        <OrderButton />
      </BareForm>
    </>
  );
}

function TiedFields({ form }: { form: string }) {
  return (
    <>
      <Field form={form} label="Quantity" name="quantity" type="number" defaultValue="1" />
      <SelectField form={form} label="Wrapping" name="wrap" defaultValue="none">
        <option value="none">None</option>
        <option value="paper">Paper</option>
        <option value="box">A box</option>
      </SelectField>
    </>
  );
}

function OrderButton() {
  return (
    <div>
      <Button>Order</Button>
    </div>
  );
}
