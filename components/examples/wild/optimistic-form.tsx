'use client';

import { useOptimistic, useState } from 'react';
import { useFormStatus } from 'react-dom';
import { Button } from '../../ui/button.tsx';
import { WildForm, type WildProps } from './wild-form.tsx';

type Ordered = { ok: true; data: { quantity: number } } | { ok: false };

/** A button of the page’s own that shows React’s pending state, and a number that is ahead of the answer. */
export function OptimisticForm(props: WildProps) {
  const [ordered, setOrdered] = useState(0);
  const [shown, expect] = useOptimistic(ordered);
  const counted =
    <P, O extends Ordered>(action: (previous: P, form: FormData) => Promise<O>) =>
    async (previous: P, form: FormData) => {
      expect(ordered + Number(form.get('quantity')));
      const outcome = await action(previous, form);
      if (outcome.ok) setOrdered(ordered + outcome.data.quantity);
      return outcome;
    };
  const own =
    props.initialKey === undefined ? { action: counted(props.action) } : { ...props, action: counted(props.action) };
  return (
    <WildForm {...own} buttons={<PendingButton />}>
      <p>{`Ordered: ${shown}`}</p>
    </WildForm>
  );
}

function PendingButton() {
  const { pending } = useFormStatus();
  return <Button aria-busy={pending}>{pending ? 'Ordering…' : 'Order'}</Button>;
}
