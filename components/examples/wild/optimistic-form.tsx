'use client';

import { useOptimistic, useState } from 'react';
import { useFormStatus } from 'react-dom';
import { Button } from '../../ui/button.tsx';
import { WildForm, type WildProps } from './wild-form.tsx';

/** A button of the page’s own that shows React’s pending state, and a number that is ahead of the answer. */
export function OptimisticForm({ action, ...props }: WildProps) {
  const [ordered, setOrdered] = useState(0);
  const [shown, expect] = useOptimistic(ordered);
  return (
    <WildForm
      {...props}
      action={async (previous, form) => {
        expect(ordered + Number(form.get('quantity')));
        const outcome = await action(previous, form);
        if (outcome.ok) setOrdered(ordered + outcome.data.quantity);
        return outcome;
      }}
      buttons={<PendingButton />}
    >
      <p>{`Ordered: ${shown}`}</p>
    </WildForm>
  );
}

function PendingButton() {
  const { pending } = useFormStatus();
  return <Button aria-busy={pending}>{pending ? 'Ordering…' : 'Order'}</Button>;
}
