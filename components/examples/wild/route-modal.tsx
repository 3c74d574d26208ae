'use client';

import { useRouter } from 'next/navigation';
import { type ReactNode, useEffect, useRef } from 'react';
import { Button } from '../../ui/button.tsx';

/** A dialog that is open for as long as its route is shown, and goes back to the page behind it when it is closed. */
export function RouteModal({ title, children }: { title: string; children: ReactNode }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const { back } = useRouter();
  useEffect(() => {
    const own = dialog.current;
    own?.showModal();
    // With Cache Components Next hides the page that is left, and moves it: shown again, an open dialog could not be opened.
    return () => own?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        back();
      }}
      className="m-auto w-[min(28rem,calc(100vw-2rem))] rounded-xl border border-line bg-surface p-5 text-ink backdrop:bg-black/50"
    >
      <div className="grid gap-4">
        <h2 className="text-lg font-semibold">{title}</h2>
        {children}
        <div>
          <Button type="button" variant="quiet" onClick={back}>
            Close
          </Button>
        </div>
      </div>
    </dialog>
  );
}
