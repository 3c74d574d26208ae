'use client';

import { type SubmitAction, type Transition, useIdempotentSubmit } from 'oncekit/react';
import { useState } from 'react';
import type { PlacedOrder } from '../../shop/orders/orders.ts';
import type { Choice } from '../lab/goods-fields.tsx';
import { OrderForm } from '../lab/order-form.tsx';

interface Props {
  action: SubmitAction<PlacedOrder>;
  initialKey: string;
  products: readonly Choice[];
}

/** An order form for which all tabs of a browser are one, and which shows the steps it takes. */
export function TabsForm({ action, initialKey, products }: Props) {
  const [steps, setSteps] = useState<Transition[]>([]);
  const submit = useIdempotentSubmit(action, {
    intent: 'example.tabs:demo',
    initialKey,
    storage: 'local',
    onTransition: (step) => setSteps((before) => [...before, step]),
  });
  return (
    <>
      <OrderForm submit={submit} products={products} href="/examples/tabs" label="Place order" />
      <section aria-labelledby="steps-title" className="grid gap-2">
        <h2 id="steps-title" className="text-sm text-muted">
          Steps of this tab
        </h2>
        <ol className="grid gap-1 font-mono text-sm">
          {steps.map(({ event, to, attempt, key }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: steps are only ever added
            <li key={index} className="flex flex-wrap gap-x-2">
              <span>{event}</span>
              <span className="text-muted">
                {to}, attempt {attempt}, key …{key.slice(-6)}
              </span>
            </li>
          ))}
        </ol>
      </section>
    </>
  );
}
