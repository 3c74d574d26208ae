'use client';

import { useEffect, useRef, useState } from 'react';
import { createPortal } from 'react-dom';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/field.tsx';
import { WildForm, type WildProps } from './wild-form.tsx';

/** An order whose address is entered in a dialog, as component libraries render them: in a portal. */
export function PortalForm(props: WildProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isOpen, setOpen] = useState(false);
  const [city, setCity] = useState('');
  // Once it is there, and no more when it has been closed.
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
  }, [isOpen]);
  const save = (form: FormData) => {
    setCity(String(form.get('city')));
    dialog.current?.close();
  };
  return (
    <WildForm
      {...props}
      buttons={
        <>
          <Button>Order</Button>
          <Button type="button" variant="quiet" onClick={() => setOpen(true)}>
            Change the address
          </Button>
        </>
      }
    >
      <p>{city ? `To ${city}` : 'No address yet'}</p>
      {isOpen
        ? createPortal(
            <dialog
              ref={dialog}
              aria-label="Address"
              onClose={() => setOpen(false)}
              className="m-auto w-[min(28rem,calc(100vw-2rem))] rounded-xl border border-line bg-surface p-5 text-ink backdrop:bg-black/50"
            >
              <form action={save} className="grid gap-4">
                <Field label="City" name="city" required />
                <Button>Save the address</Button>
              </form>
            </dialog>,
            document.body,
          )
        : null}
    </WildForm>
  );
}
