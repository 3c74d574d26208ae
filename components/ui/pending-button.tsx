'use client';

import type { ComponentProps } from 'react';
import { useFormStatus } from 'react-dom';
import { Button } from './button.tsx';

/** The button of a form whose action needs no key: shows that it is at work, and takes no second click meanwhile. */
export function PendingButton(props: ComponentProps<typeof Button>) {
  const { pending } = useFormStatus();
  return (
    <Button
      {...props}
      aria-busy={pending}
      // Not `disabled`: that would drop the focus of the person who has just pressed it.
      onClick={pending ? (event) => event.preventDefault() : undefined}
    />
  );
}
