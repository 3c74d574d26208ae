'use client';

import type { ReactNode } from 'react';
import { useFormStatus } from 'react-dom';
import { Button, type ButtonVariant } from '../../ui/button.tsx';

/** Cannot be pressed while its form is under way: a second press would only be told that the key has changed. */
export function SubmitButton({ variant = 'primary', children }: { variant?: ButtonVariant; children: ReactNode }) {
  const { pending } = useFormStatus();
  return (
    <Button variant={variant} disabled={pending} className="w-full sm:w-auto">
      {children}
    </Button>
  );
}
