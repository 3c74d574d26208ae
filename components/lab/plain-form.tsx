'use client';

import { type SubmitEvent, useActionState } from 'react';
import type { PlainResult } from '../../shop/lab/order.ts';
import { Button } from '../ui/button.tsx';
import { Notice } from '../ui/notice.tsx';
import { type Choice, GoodsFields } from './goods-fields.tsx';
import { OrderLink } from './order-link.tsx';
import type { PlainOrder } from './use-plain-order.ts';

interface Props {
  action: (previous: PlainResult | null, form: FormData) => Promise<PlainResult>;
  products: readonly Choice[];
  order: PlainOrder;
  /**
   * Asked at each submit: whether `order` sends it to its endpoint, apart from Next's queue of actions, because both
   * columns are to run at once.
   */
  isPlayed: () => boolean;
  /** The address that it posts to and comes back to without JavaScript; null: its action. */
  preset: string | null;
}

/** A form as it is usually written, with nothing against a second click. */
export function PlainForm({ action, products, order, isPlayed, preset }: Props) {
  const [answered, submit] = useActionState(action, null);
  const isWaiting = order.state === 'waiting';
  const result = order.state === 'idle' ? answered : order.result;
  const refused = result && !result.ok ? result : null;
  const onSubmit = (event: SubmitEvent<HTMLFormElement>) => {
    if (!isPlayed()) return;
    event.preventDefault();
    order.send(new FormData(event.currentTarget));
  };
  const target = preset === null ? { action: submit } : { action: '/api/lab/plain', method: 'post' };
  return (
    <form {...target} onSubmit={onSubmit} noValidate className="grid gap-4">
      {preset === null ? null : <input type="hidden" name="preset" value={preset} />}
      <GoodsFields products={products} errors={refused?.fieldErrors} values={refused?.values} />
      <Button variant="quiet">Order without oncekit</Button>
      <div role="status" className="min-h-20">
        {isWaiting ? <p className="text-muted">Sending…</p> : null}
        {result?.ok && !isWaiting ? (
          <Notice tone="good">
            Order placed: <OrderLink id={result.data.id} />
          </Notice>
        ) : null}
        {refused && !isWaiting ? <Notice tone="bad">{refused.message}</Notice> : null}
      </div>
    </form>
  );
}
