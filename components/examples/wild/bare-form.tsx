'use client';

import { type ComponentProps, useActionState } from 'react';
import type { PlainResult } from '../../../shop/lab/order.ts';

export type PlainAction = (previous: PlainResult | null, form: FormData) => Promise<PlainResult>;

/** The twin of a form: the same one without the kit, as it is usually written. */
export function BareForm({
  action,
  children,
  ...form
}: Omit<ComponentProps<'form'>, 'action'> & { action: PlainAction }) {
  const [result, submit, isPending] = useActionState(action, null);
  return (
    <form {...form} action={submit}>
      {children}
      <p role="status" data-state={isPending ? 'pending' : 'idle'}>
        {isPending ? 'Ordering…' : result?.ok ? 'Ordered.' : result?.message}
      </p>
    </form>
  );
}
