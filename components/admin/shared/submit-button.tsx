'use client';

import { type ReactNode, useEffect } from 'react';
import { useFormStatus } from 'react-dom';
import { Button, type ButtonVariant } from '../../ui/button.tsx';

/**
 * Cannot be pressed while its form is under way: a second press would only be told that the key has changed. Then the message
 * has the focus that the button has lost.
 */
export function SubmitButton({ variant = 'primary', children }: { variant?: ButtonVariant; children: ReactNode }) {
  const { pending } = useFormStatus();
  useEffect(() => {
    if (!pending) return;
    return () => {
      if (document.activeElement === document.body) document.querySelector<HTMLElement>('[data-notice]')?.focus();
    };
  }, [pending]);
  return (
    <Button variant={variant} disabled={pending} className="w-full sm:w-auto">
      {children}
    </Button>
  );
}
