import { createIdempotency, type Outcome } from 'oncekit';
import { type ServerFormProps, serverAction } from 'oncekit/next';
import { type IdempotentFormProps, type SubmitAction, useIdempotentSubmit } from 'oncekit/react';
import { type ComponentProps, useActionState } from 'react';
import { describe, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { createClient } from '../../shop/db.ts';

type Order = { id: string; at: Date };
type Input = { sku: string; quantity: string };

const checkout = createIdempotency({ prisma: createClient('') })
  .operation({ name: 'checkout', schema: z.object({ sku: z.string(), quantity: z.coerce.number<string>() }) })
  .handler(async ({ input }): Promise<Order> => ({ id: input.sku, at: new Date() }));
const submit = serverAction(checkout);

describe('a server action fits', () => {
  test('<form action>', () => {
    expectTypeOf(submit).toExtend<(form: FormData) => void | Promise<void>>();
    expectTypeOf(submit).toExtend<NonNullable<ComponentProps<'form'>['action']>>();
    expectTypeOf(submit).toExtend<NonNullable<ComponentProps<'button'>['formAction']>>();
  });

  test('useActionState', () => {
    const [outcome, action] = useActionState(submit, null);
    expectTypeOf(outcome).toEqualTypeOf<Outcome<Order, string, Input> | null>();
    expectTypeOf(action).toEqualTypeOf<(form: FormData) => void>();
  });

  test('<IdempotentForm>, with bound arguments as well', () => {
    expectTypeOf(submit).toExtend<ServerFormProps<Order>['action']>();
    expectTypeOf(submit.bind(null, 'cart-42').bind(null, 1)).toEqualTypeOf<typeof submit>();
    // @ts-expect-error: null would be taken for the state of useActionState
    submit.bind(null, null);
  });

  test('oncekit/react, with the type of the result', () => {
    expectTypeOf(submit).toExtend<SubmitAction<Order>>();
    expectTypeOf(submit).not.toExtend<SubmitAction<{ other: number }>>();
    expectTypeOf(submit).toExtend<IdempotentFormProps<Order>['action']>();
    const { result } = useIdempotentSubmit(submit, { intent: 'checkout:1', initialKey: 'k' });
    expectTypeOf(result).toEqualTypeOf<Outcome<Order, string, Input> | null>();
  });
});

describe('from code', () => {
  test('the input is what the schema takes, and the key is required', () => {
    expectTypeOf(submit({ sku: 'tea', quantity: '1' }, { key: 'k' })).resolves.toEqualTypeOf<
      Outcome<Order, string, Input>
    >();
    submit({ sku: 'tea', quantity: '1' }, { key: 'k', attempt: 2 });
    // @ts-expect-error: a quantity is text before the schema
    submit({ sku: 'tea', quantity: 1 }, { key: 'k' });
    // @ts-expect-error: `sku` is missing
    submit({ quantity: '1' }, { key: 'k' });
    // @ts-expect-error: no key
    submit({ sku: 'tea', quantity: '1' });
    // @ts-expect-error: no key
    submit({ sku: 'tea', quantity: '1' }, {});
    // @ts-expect-error: a key is text
    submit({ sku: 'tea', quantity: '1' }, { key: 1 });
  });
});

describe('options', () => {
  test('are given the result with its type', () => {
    serverAction(checkout, {
      redirectTo: (order) => {
        expectTypeOf(order).toEqualTypeOf<Order>();
        return order.id;
      },
      onSettled: (outcome) => {
        expectTypeOf(outcome).toEqualTypeOf<Outcome<Order>>();
      },
    });
    // @ts-expect-error: no address
    serverAction(checkout, { redirectTo: () => 1 });
  });
});
