'use client';

import { useRef } from 'react';
import { Button } from '../../ui/button.tsx';
import { WildForm, type WildProps } from './wild-form.tsx';

/** An order in a native dialog, whose cancel is a submit button of the platform’s kind. */
export function CancelForm(props: WildProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  return (
    <>
      <Button type="button" variant="quiet" onClick={() => dialog.current?.showModal()}>
        Open the dialog
      </Button>
      <dialog
        ref={dialog}
        aria-label="Order mugs"
        className="m-auto w-[min(28rem,calc(100vw-2rem))] rounded-xl border border-line bg-surface p-5 text-ink backdrop:bg-black/50"
      >
        <WildForm
          {...props}
          buttons={
            <>
              <Button>Order</Button>
              <Button variant="quiet" formMethod="dialog" value="cancelled">
                Cancel
              </Button>
            </>
          }
        />
      </dialog>
    </>
  );
}
