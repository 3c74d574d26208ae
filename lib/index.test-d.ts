import { Decimal } from '@prisma/client/runtime/client';
import { createIdempotency, type Outcome, type Refusal, type Success } from 'oncekit';
import { describe, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { createClient, type Transaction } from '../shop/db.ts';

const client = createClient('');
const schema = z.object({
  sku: z.string(),
  quantity: z.coerce.number(),
  at: z.string().transform((text) => new Date(text)),
});

describe("the handler's transaction is the user's own", () => {
  test('of a plain client: its models, and not what Prisma denies in a transaction', () => {
    createIdempotency({ prisma: client })
      .operation({ name: 'checkout', schema })
      .handler(async ({ tx }) => {
        const order = await tx.order.findUniqueOrThrow({ where: { id: '1' } });
        expectTypeOf(order.amountCents).toEqualTypeOf<number>();
        expectTypeOf(order.cartId).toEqualTypeOf<string | null>();
        expectTypeOf(tx.product.update).toEqualTypeOf(client.product.update);
        expectTypeOf(tx).toHaveProperty('$queryRaw');
        // Functions that take Prisma's own can be given it.
        expectTypeOf(tx).toEqualTypeOf<Transaction>();
        expectTypeOf(tx).not.toHaveProperty('$disconnect');
        expectTypeOf(tx).not.toHaveProperty('$extends');
        expectTypeOf(tx).not.toBeAny();
        // @ts-expect-error: there is no such model
        tx.nothing;
        // @ts-expect-error: there is no such column
        await tx.order.findFirst({ where: { colour: 'red' } });
      });
  });

  test('of an extended client: its custom methods and results too', () => {
    const extended = client.$extends({
      model: { product: { take: async (sku: string) => sku.length } },
      result: {
        order: { euros: { needs: { amountCents: true }, compute: ({ amountCents }) => `${amountCents / 100} €` } },
      },
      client: { $now: () => new Date() },
    });
    createIdempotency({ prisma: extended })
      .operation({ name: 'checkout', schema })
      .handler(async ({ tx }) => {
        expectTypeOf(await tx.product.take('tea')).toEqualTypeOf<number>();
        const order = await tx.order.findFirstOrThrow();
        expectTypeOf(order.euros).toEqualTypeOf<string>();
        expectTypeOf(order.amountCents).toEqualTypeOf<number>();
        expectTypeOf(tx.$now()).toEqualTypeOf<Date>();
        expectTypeOf(tx).not.toHaveProperty('$disconnect');
        expectTypeOf(tx).not.toBeAny();
      });
  });

  test('onRefused has it as well', () => {
    createIdempotency({ prisma: client }).operation({
      name: 'checkout',
      schema,
      onRefused: async (tx, { input, reason }) => {
        expectTypeOf(tx.order.count).toBeFunction();
        expectTypeOf(input.quantity).toEqualTypeOf<number>();
        expectTypeOf(reason).toEqualTypeOf<string>();
      },
    });
  });

  test('what is no Prisma client is refused', () => {
    // @ts-expect-error: no $transaction, no $queryRawUnsafe
    createIdempotency({ prisma: {} });
    // @ts-expect-error: no client at all
    createIdempotency({});
  });
});

describe('input, result and outcome', () => {
  const checkout = createIdempotency({ prisma: client })
    .operation({
      name: 'checkout',
      schema,
      admit: ({ input }) => {
        expectTypeOf(input).toEqualTypeOf<{ sku: string; quantity: number; at: Date }>();
        return true;
      },
    })
    .handler(async ({ input, capture, fail }) => {
      expectTypeOf(input).toEqualTypeOf<{ sku: string; quantity: number; at: Date }>();
      expectTypeOf(await capture('id', () => 'x')).toEqualTypeOf<string>();
      expectTypeOf(await capture('n', async () => 1)).toEqualTypeOf<number>();
      if (input.quantity > 3) fail('too_many');
      return { id: input.sku, at: input.at };
    });

  test('redirectTo is given the result that the function has, and returns an address', () => {
    const { handler, phases } = createIdempotency({ prisma: client }).operation({ name: 'checkout', schema });
    const operation = handler(async ({ input, fail }) => (input.quantity > 3 ? fail('too_many') : { id: input.sku }), {
      redirectTo: (order) => {
        expectTypeOf(order).toEqualTypeOf<{ id: string }>();
        return `/orders/${order.id}`;
      },
    });
    expectTypeOf(operation.execute).returns.resolves.toEqualTypeOf<Outcome<{ id: string }>>();
    const phased = phases(async ({ atomic }) => await atomic('count', async () => 1), {
      redirectTo: (count) => {
        expectTypeOf(count).toEqualTypeOf<number>();
        return count > 0 ? '/orders' : undefined;
      },
    });
    expectTypeOf(phased.execute).returns.resolves.toEqualTypeOf<Outcome<number>>();
    // @ts-expect-error: no address
    handler(async () => 'o1', { redirectTo: () => 1 });
    // @ts-expect-error: an address that is made later
    handler(async () => 'o1', { redirectTo: async (id) => `/orders/${id}` });
    // @ts-expect-error: no such result
    phases(async () => 'o1', { redirectTo: ({ id }) => `/orders/${id}` });
    // @ts-expect-error: no such option
    handler(async () => 'o1', { onSettled: () => {} });
  });

  test('the payload is what the schema takes, or a form', () => {
    expectTypeOf(checkout.execute).parameter(0).toHaveProperty('payload');
    checkout.execute({ key: 'k', payload: { sku: 'tea', quantity: 1, at: '2026' } });
    checkout.execute({ key: 'k', payload: new FormData() });
    // @ts-expect-error: `at` is text before the schema
    checkout.execute({ key: 'k', payload: { sku: 'tea', quantity: 1, at: new Date() } });
    // @ts-expect-error: `sku` is missing
    checkout.execute({ key: 'k', payload: { quantity: 1, at: '' } });
  });

  test('the outcome narrows by `ok`, and the refusal by `code`', async () => {
    const outcome = await checkout.execute({ key: 'k', payload: new FormData() });
    expectTypeOf(outcome).toEqualTypeOf<Outcome<{ id: string; at: Date }>>();
    if (outcome.ok) {
      expectTypeOf(outcome).toEqualTypeOf<Success<{ id: string; at: Date }>>();
      expectTypeOf(outcome.data.at).toEqualTypeOf<Date>();
      expectTypeOf(outcome).not.toHaveProperty('code');
    } else {
      expectTypeOf(outcome).toEqualTypeOf<Refusal>();
      expectTypeOf(outcome.executed).toEqualTypeOf<boolean | 'unknown'>();
      expectTypeOf(outcome.retry).toEqualTypeOf<'never' | 'same-key' | 'new-key'>();
      expectTypeOf(outcome).not.toHaveProperty('data2');
      // @ts-expect-error: no such code
      outcome.code === 'nonsense';
    }
  });

  test('status and fence tell the result with its type', async () => {
    const status = await checkout.status({ key: 'k' });
    if (!('ok' in status)) expectTypeOf(status.outcome).toEqualTypeOf<Outcome<{ id: string; at: Date }> | undefined>();
    const fenced = await checkout.fence({ key: 'k' });
    if ('fenced' in fenced && !fenced.fenced) {
      expectTypeOf(fenced.outcome).toEqualTypeOf<Outcome<{ id: string; at: Date }> | undefined>();
    }
    expectTypeOf(await checkout.as('orders.create').execute({ key: 'k', payload: new FormData() })).toEqualTypeOf(
      await checkout.execute({ key: 'k', payload: new FormData() }),
    );
  });
});

describe('the reasons of fail', () => {
  const idempotency = createIdempotency({ prisma: client });
  const declared = { name: 'checkout', schema, reasons: ['sold_out', 'gone'] } as const;
  const checkout = idempotency
    .operation({ name: 'checkout', schema, reasons: ['sold_out', 'gone'] })
    .handler(async ({ fail, defer, input }) => {
      // @ts-expect-error: no reason of that name
      if (input.quantity > 9) return fail('sold_outt');
      // @ts-expect-error one that asks to come again is not for good: `defer`
      if (input.quantity > 8) return fail('sold_out', {}, { status: 503 });
      // @ts-expect-error
      if (input.quantity > 7) return fail('sold_out', {}, { status: 429 });
      // @ts-expect-error
      if (input.quantity > 7) return fail('sold_out', {}, { status: input.quantity > 8 ? 404 : 503 });
      const status: number = 409;
      if (input.quantity > 6) return fail('sold_out', {}, { status });
      if (input.quantity > 5) return defer('sold_out', { status: 503, retryAfterMs: 1000 });
      return input.quantity > 3 ? fail('sold_out', { left: 0 }) : { id: input.sku };
    });

  test('once they are listed, another one does not compile: where it is asked for, and where it is given', async () => {
    const outcome = await checkout.execute({ key: 'k', payload: new FormData() });
    expectTypeOf(outcome).toEqualTypeOf<Outcome<{ id: string }, 'sold_out' | 'gone'>>();
    if (outcome.ok) return;
    expectTypeOf(outcome.reason).toEqualTypeOf<'sold_out' | 'gone' | undefined>();
    // @ts-expect-error: no reason of that name
    outcome.reason === 'sold_outt';
    expectTypeOf(checkout.as('orders.create')).toEqualTypeOf(checkout);
  });

  test('onRefused, phases and a foreign call have them, too', () => {
    idempotency.operation({
      ...declared,
      onRefused: async (_, { reason }) => {
        expectTypeOf(reason).toEqualTypeOf<'sold_out' | 'gone'>();
      },
    });
    idempotency.operation(declared).phases(async ({ fail, foreign }) => {
      await foreign('charge', {
        arguments: {},
        send: async () => 1,
        indeterminate: 'unknown',
        // @ts-expect-error: no reason of that name
        judge: () => ({ refuse: 'declined' }),
      });
      return fail('gone');
    });
  });

  test('where they are not listed, they are any text', async () => {
    const plain = idempotency.operation({ name: 'plain', schema }).handler(async ({ fail }) => fail('whatever'));
    const outcome = await plain.execute({ key: 'k', payload: new FormData() });
    if (!outcome.ok) expectTypeOf(outcome.reason).toEqualTypeOf<string | undefined>();
  });
});

describe('a result that cannot be stored does not compile', () => {
  const { handler, phases } = createIdempotency({ prisma: client }).operation({ name: 'checkout', schema });
  class Money {
    cents = 5;
    plus(other: Money) {
      return this.cents + other.cents;
    }
  }

  test('a function, a class instance, a symbol, a promise: the place is in the words', () => {
    // @ts-expect-error: .order.pay is a function
    handler(async () => ({ order: { pay: () => {} } }));
    // @ts-expect-error: .lines[].total.plus is a function
    handler(async () => ({ lines: [{ total: new Money() }] }));
    // @ts-expect-error: .tag is a symbol
    handler(async () => ({ tag: Symbol('s') }));
    // @ts-expect-error: .order is a promise
    phases(async () => ({ order: Promise.resolve(1) }));
  });

  test('what can be stored does: rows with dates, decimals, big integers and JSON; nothing; what nobody has typed', () => {
    type Json = string | number | null | Json[] | { [name: string]: Json };
    handler(async () => ({
      price: new Decimal(1),
      cents: 5n,
      at: new Date(),
      json: null as Json,
      map: new Map(),
    }));
    handler(async ({ tx }) => await tx.order.findMany({ include: { cart: true } }));
    handler(async () => {});
    handler(async () => null as unknown);
    handler(async () => JSON.parse('1'));
    handler(async () => Response.json(1));
    phases(async ({ fail }) => fail('no'));
  });
});
