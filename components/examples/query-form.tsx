'use client';

import { QueryClient, QueryClientProvider, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { IdempotencyKeyField, type SubmitAction, useIdempotentSubmit } from 'oncekit/react';
import { useState } from 'react';
import type { PlacedOrder } from '../../shop/orders/orders.ts';
import { type Choice, GoodsFields } from '../lab/goods-fields.tsx';
import { OrderAnswer } from '../lab/order-answer.tsx';
import { Button } from '../ui/button.tsx';
import { OrderCount } from './order-count.tsx';

interface Props {
  action: SubmitAction<PlacedOrder>;
  initialKey: string;
  products: readonly Choice[];
  /** How many orders there are as the page is rendered. */
  count: number;
}

const HREF = '/examples/tanstack-query';
const ORDERS = ['example-orders'];

/** An order form whose submit is a mutation, and whose answer makes a query ask again. */
export function QueryForm(props: Props) {
  const [client] = useState(() => new QueryClient());
  return (
    <QueryClientProvider client={client}>
      <Form {...props} />
    </QueryClientProvider>
  );
}

function Form({ action, initialKey, products, count }: Props) {
  const client = useQueryClient();
  const submit = useIdempotentSubmit(action, {
    intent: 'example.tanstack-query:demo',
    initialKey,
    // Here and not in the mutation: an answer that is found after a reload belongs to no mutation.
    onSettled: () => void client.invalidateQueries({ queryKey: ORDERS }),
  });
  const mutation = useMutation({
    mutationFn: submit.executeAsync,
    retry: false, // the kit does, under the same key
    networkMode: 'always', // the kit waits until the browser is online, and says so
  });
  const orders = useQuery({ queryKey: ORDERS, queryFn: countOrders, initialData: count });

  const refused = submit.result?.ok === false ? submit.result : null;
  return (
    <>
      <form
        {...submit.formProps}
        onSubmit={(event) => {
          event.preventDefault();
          mutation.mutate(new FormData(event.currentTarget));
        }}
        noValidate
        aria-busy={mutation.isPending}
        className="grid gap-4"
      >
        <IdempotencyKeyField {...submit.fieldProps} />
        <GoodsFields products={products} errors={refused?.fieldErrors} values={refused?.values} />
        <Button>Place order</Button>
        <OrderAnswer submit={submit} href={HREF} />
      </form>
      <OrderCount count={orders.data} />
    </>
  );
}

async function countOrders(): Promise<number> {
  const answer = await fetch(`${HREF}/orders`);
  if (!answer.ok) throw new Error(`The orders cannot be counted: ${answer.status}`);
  return answer.json();
}
