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
  maxBytes: number;
}

const fileButton =
  '[&_input]:p-1 [&_::file-selector-button]:mr-3 [&_::file-selector-button]:h-full ' +
  '[&_::file-selector-button]:rounded-md [&_::file-selector-button]:bg-sunken [&_::file-selector-button]:px-3';

/** A form with a file. */
export function PictureForm({ action, initialKey, maxBytes }: Props) {
  const submit = useIdempotentSubmit(action, { intent: 'example.print:demo', initialKey });
  const refused = submit.result?.ok === false ? submit.result : null;
  // Said here already: a body that is over the framework's limit never comes to the action, which could say so.
  const [isTooLarge, setTooLarge] = useState(false);
  return (
    <form
      {...submit.formProps}
      onSubmit={(event) => {
        if (isTooLarge) event.preventDefault();
        submit.formProps.onSubmit(event);
      }}
      noValidate
      className="grid gap-4"
    >
      <IdempotencyKeyField {...submit.fieldProps} />
      <Field
        label="Picture, at most 500 kB"
        name="picture"
        type="file"
        accept="image/*"
        className={fileButton}
        onChange={({ currentTarget }) => setTooLarge((currentTarget.files?.[0]?.size ?? 0) > maxBytes)}
        errors={isTooLarge ? ['This file is too large.'] : refused?.fieldErrors?.picture}
      />
      <Button variant="quiet">Order the print</Button>
      <MugAnswer submit={submit} />
    </form>
  );
}
