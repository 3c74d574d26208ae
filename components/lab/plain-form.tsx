'use client';

import { useActionState } from 'react';
import type { PlainResult } from '../../lib/demo/lab.ts';
import { Button } from '../ui/button.tsx';
import { Notice } from '../ui/notice.tsx';
import { type Choice, GoodsFields } from './goods-fields.tsx';
import { OrderLink } from './order-link.tsx';

interface Props {
  action: (previous: PlainResult | null, form: FormData) => Promise<PlainResult>;
  products: readonly Choice[];
}

/** A form as React's documentation has it, with nothing against a second click. */
export function PlainForm({ action, products }: Props) {
  const [result, submit] = useActionState(action, null);
  const refused = result && !result.ok ? result : null;
  return (
    <form action={submit} noValidate className="grid gap-4">
      <GoodsFields products={products} errors={refused?.fieldErrors} values={refused?.values} />
      <Button variant="quiet">Order without oncekit</Button>
      <div role="status" className="min-h-20">
        {result?.ok ? (
          <Notice tone="good">
            Order placed: <OrderLink id={result.data.id} />
          </Notice>
        ) : null}
        {refused ? <Notice tone="bad">{refused.message}</Notice> : null}
      </div>
    </form>
  );
}
