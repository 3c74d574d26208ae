'use client';

import { IdempotencyKeyField, type SubmitAction, useIdempotentSubmit } from 'oncekit/react';
import { type ReactNode, type SubmitEvent, useEffect, useRef, useState } from 'react';
import type { MugOrder } from '../../shop/lab/example-forms.ts';
import { Button } from '../ui/button.tsx';
import { Field } from '../ui/field.tsx';
import { MugAnswer } from './mug-answer.tsx';

interface Props {
  action: SubmitAction<MugOrder>;
  initialKey: string;
}

const LAST = 2;

/** Which step a refused field stands in. */
const STEP_OF: Record<string, number> = { quantity: 0, customer_name: 1, city: 1 };

/** One form, shown in steps: its fields stay in it, so nothing is lost on the way back. Without JavaScript all show. */
export function StepsForm({ action, initialKey }: Props) {
  const submit = useIdempotentSubmit(action, { intent: 'example.steps:demo', initialKey });
  const { formProps, result } = submit;
  const refused = result?.ok === false ? result : null;
  const { fieldErrors, values } = refused ?? {};
  const field = (name: string) => ({ name, errors: fieldErrors?.[name], defaultValue: values?.[name] });

  const [step, setStep] = useState(0);
  const [entered, setEntered] = useState<FormData>();
  const form = useRef<HTMLFormElement>(null);
  const go = (to: number) => {
    if (form.current) setEntered(new FormData(form.current));
    setStep(to);
  };
  // A refused field must be seen.
  useEffect(() => {
    const [refusedField] = Object.keys(fieldErrors ?? {});
    if (refusedField) setStep(STEP_OF[refusedField] ?? 0);
  }, [fieldErrors]);

  const onSubmit = (event: SubmitEvent<HTMLFormElement>) => {
    if (step < LAST) {
      event.preventDefault(); // Enter in a field: on to the next step
      go(step + 1);
    }
    formProps.onSubmit(event);
  };
  return (
    <form {...formProps} ref={form} onSubmit={onSubmit} noValidate className="grid gap-4">
      <IdempotencyKeyField {...submit.fieldProps} />
      <Step title="1. How many" isShown={step === 0} hasMoved={entered !== undefined}>
        <Field
          label="Quantity"
          inputMode="numeric"
          {...field('quantity')}
          defaultValue={String(values?.quantity ?? 1)}
        />
      </Step>
      <Step title="2. Where to" isShown={step === 1} hasMoved>
        <Field label="Name" autoComplete="name" {...field('customer_name')} />
        <Field label="City" autoComplete="address-level2" {...field('city')} />
      </Step>
      <Step title="3. Check and order" isShown={step === LAST} hasMoved>
        {entered ? (
          <p>
            {String(entered.get('quantity'))} × mug, to {String(entered.get('customer_name'))} in{' '}
            {String(entered.get('city'))}.
          </p>
        ) : null}
        <Button variant="quiet">Place order</Button>
      </Step>
      <div className="flex gap-3 noscript:hidden">
        {step > 0 ? (
          <Button type="button" variant="quiet" onClick={() => go(step - 1)}>
            Back
          </Button>
        ) : null}
        {step < LAST ? (
          <Button type="button" variant="quiet" onClick={() => go(step + 1)}>
            Next
          </Button>
        ) : null}
      </div>
      <MugAnswer submit={submit} />
    </form>
  );
}

interface StepProps {
  title: string;
  isShown: boolean;
  /** Not as the page opens: then nothing has the focus. */
  hasMoved: boolean;
  children: ReactNode;
}

function Step({ title, isShown, hasMoved, children }: StepProps) {
  const legend = useRef<HTMLLegendElement>(null);
  // The button that was pressed may be gone, and the focus must not go with it.
  useEffect(() => {
    if (isShown && hasMoved) legend.current?.focus();
  }, [isShown, hasMoved]);
  return (
    <fieldset className={`grid gap-4 ${isShown ? '' : 'not-noscript:hidden'}`}>
      <legend ref={legend} tabIndex={-1} className="mb-3 font-medium">
        {title}
      </legend>
      {children}
    </fieldset>
  );
}
