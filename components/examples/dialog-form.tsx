'use client';

import { IdempotencyKeyField, type SubmitAction, useIdempotentSubmit } from 'oncekit/react';
import { useEffect, useRef, useState } from 'react';
import type { MugOrder } from '../../shop/lab/example-forms.ts';
import { Button } from '../ui/button.tsx';
import { Field } from '../ui/field.tsx';
import { MugAnswer } from './mug-answer.tsx';

interface Props {
  action: SubmitAction<MugOrder>;
  initialKey: string;
}

/** A dialog whose form is there only while it is open. The key survives in the storage of the tab. */
export function DialogForm(props: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isOpen, setOpen] = useState(false);
  // Once the form is there, so that its first field gets the focus.
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
  }, [isOpen]);
  return (
    <>
      <Button type="button" variant="quiet" className="noscript:hidden" onClick={() => setOpen(true)}>
        Open the dialog
      </Button>
      <p className="hidden text-muted noscript:block">The dialog needs JavaScript.</p>
      <dialog
        ref={dialog}
        aria-labelledby="dialog-title"
        onClose={() => setOpen(false)}
        className="m-auto w-[min(28rem,calc(100vw-2rem))] rounded-xl border border-line bg-surface p-5 text-ink backdrop:bg-black/50 sm:p-6"
      >
        <h3 id="dialog-title" className="mb-4 text-lg font-semibold">
          Order mugs
        </h3>
        {isOpen ? <Form {...props} onClose={() => dialog.current?.close()} /> : null}
      </dialog>
    </>
  );
}

function Form({ action, initialKey, onClose }: Props & { onClose: () => void }) {
  const submit = useIdempotentSubmit(action, { intent: 'example.dialog:demo', initialKey });
  const refused = submit.result?.ok === false ? submit.result : null;
  return (
    <form {...submit.formProps} noValidate className="grid gap-4">
      <IdempotencyKeyField {...submit.fieldProps} />
      <Field
        label="Quantity"
        name="quantity"
        inputMode="numeric"
        defaultValue={String(refused?.values?.quantity ?? 1)}
        errors={refused?.fieldErrors?.quantity}
      />
      <div className="flex gap-3">
        <Button>Order</Button>
        <Button type="button" variant="quiet" onClick={onClose}>
          Close
        </Button>
      </div>
      <MugAnswer submit={submit} />
    </form>
  );
}
