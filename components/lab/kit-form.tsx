'use client';

import { IdempotencyKeyField, type SubmitAction, SubmitStatus, useIdempotentSubmit } from 'oncekit/react';
import type { PlacedOrder } from '../../lib/demo/orders.ts';
import { FirstAnswer, isMismatch } from '../shop/first-answer.tsx';
import { Button, buttonClass } from '../ui/button.tsx';
import { type Choice, GoodsFields } from './goods-fields.tsx';
import { OrderLink } from './order-link.tsx';

interface Props {
  action: SubmitAction<PlacedOrder>;
  initialKey: string;
  products: readonly Choice[];
}

const PLACED = { hasSucceeded: 'Order placed: ', recovered: 'This was already placed: ' };
const REPLAYED = { ...PLACED, hasSucceeded: 'Already placed; this is the same order: ' };

export function KitForm({ action, initialKey, products }: Props) {
  const submit = useIdempotentSubmit(action, { intent: 'lab.order:lab', initialKey });
  const { result } = submit;
  const refused = result && !result.ok ? result : null;
  return (
    <form {...submit.formProps} noValidate className="grid gap-4">
      <IdempotencyKeyField {...submit.fieldProps} />
      <GoodsFields products={products} errors={refused?.fieldErrors} values={refused?.values} />
      <Button>Order with oncekit</Button>
      <div className="grid min-h-20 content-start gap-3">
        <SubmitStatus submit={submit} messages={result?.ok && result.replayed ? REPLAYED : PLACED}>
          {(order) => <OrderLink id={order.id} />}
        </SubmitStatus>
        {result?.ok ? (
          /* A link, for those without JavaScript: the page brings a new key. */
          <a
            href="/lab"
            className={buttonClass('quiet')}
            onClick={(event) => {
              event.preventDefault();
              submit.reset();
            }}
          >
            Order another
          </a>
        ) : null}
        {isMismatch(result) ? <FirstAnswer mismatch={result} freshHref="/lab" /> : null}
      </div>
    </form>
  );
}
