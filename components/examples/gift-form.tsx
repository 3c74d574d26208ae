'use client';

import { IdempotencyKeyField, type SubmitAction, useIdempotentSubmit } from 'oncekit/react';
import { useState } from 'react';
import type { MugOrder } from '../../shop/lab/example-forms.ts';
import { Button } from '../ui/button.tsx';
import { Field } from '../ui/field.tsx';
import { MugAnswer } from './mug-answer.tsx';

interface Props {
  action: SubmitAction<MugOrder>;
  initialKey: string;
  /** Has its key bound to it. */
  sampleAction: (form: FormData) => Promise<void>;
}

/** Submit buttons with values, one that goes to another action, and a nested fieldset. */
export function GiftForm({ action, initialKey, sampleAction }: Props) {
  const submit = useIdempotentSubmit(action, { intent: 'example.gift:demo', initialKey });
  const refused = submit.result?.ok === false ? submit.result : null;
  const { fieldErrors, values } = refused ?? {};
  const [hasNote, setHasNote] = useState(values?.note !== undefined);
  return (
    <form {...submit.formProps} noValidate className="grid gap-4">
      <IdempotencyKeyField {...submit.fieldProps} />
      <fieldset className="grid gap-4">
        <legend className="sr-only">Mugs</legend>
        <Field
          label="Quantity"
          name="quantity"
          inputMode="numeric"
          defaultValue={String(values?.quantity ?? 1)}
          errors={fieldErrors?.quantity}
        />
        <label className="flex min-h-11 items-center gap-2 sm:min-h-0">
          {/* No name: it only says whether the note is sent. */}
          <input
            type="checkbox"
            className="size-4 accent-accent"
            checked={hasNote}
            onChange={({ currentTarget }) => setHasNote(currentTarget.checked)}
          />
          Add a note
        </label>
        {/* Disabled in the first HTML already: a submit before hydration then sends the same as one behind it. */}
        <fieldset disabled={!hasNote} className="disabled:opacity-60">
          <legend className="sr-only">Note</legend>
          <Field label="Note" name="note" defaultValue={String(values?.note ?? '')} errors={fieldErrors?.note} />
        </fieldset>
      </fieldset>
      <div className="flex flex-wrap gap-3">
        <Button variant="quiet" name="wrap" value="none">
          Order
        </Button>
        <Button variant="quiet" name="wrap" value="gift">
          Order gift-wrapped (+ $5)
        </Button>
        <Button variant="quiet" formAction={sampleAction}>
          Order a sample
        </Button>
      </div>
      <MugAnswer submit={submit} />
    </form>
  );
}
