import { createIdempotency } from 'oncekit';
import { judgeStripeError, stripeCall } from 'oncekit/stripe';
import { expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { createClient } from '../../shop/db.ts';

type Charged = { id: string };

const idempotency = createIdempotency({ prisma: createClient('') });
const schema = z.object({ amount: z.number() });
const charge = { arguments: { amount: 500 }, send: async (): Promise<Charged> => ({ id: 'pi_1' }) };

test('the operation lists `card_declined`, which Stripe may say', () => {
  idempotency.operation({ name: 'any', schema }).phases(async ({ foreign }) => {
    expectTypeOf(await foreign('charged', stripeCall(charge))).toEqualTypeOf<Charged>();
  });
  idempotency
    .operation({ name: 'listed', schema, reasons: ['sold_out', 'card_declined'] })
    .phases(async ({ foreign }) => {
      expectTypeOf(await foreign('charged', stripeCall(charge))).toEqualTypeOf<Charged>();
    });
  idempotency.operation({ name: 'alone', schema, reasons: ['card_declined'] }).phases(async ({ foreign }) => {
    await foreign('charged', stripeCall(charge));
    await foreign('judged', stripeCall({ ...charge, judge: judgeStripeError }));
  });
  idempotency.operation({ name: 'lacking', schema, reasons: ['sold_out'] }).phases(async ({ foreign }) => {
    // @ts-expect-error: nobody would be ready for a declined card
    await foreign('charged', stripeCall(charge));
  });
});

test('and what a judge of its own refuses with', () => {
  const disputed = { ...charge, judge: () => ({ refuse: 'disputed' }) as const };
  const reasons = ['card_declined', 'disputed'] as const;
  idempotency.operation({ name: 'listed', schema, reasons }).phases(async ({ foreign }) => {
    await foreign('charged', stripeCall({ ...charge, judge: () => ({ refuse: 'disputed' }) }));
    // @ts-expect-error: misspelt
    await foreign('again', stripeCall({ ...charge, judge: () => ({ refuse: 'disputet' }) }));
  });
  idempotency.operation({ name: 'lacking', schema, reasons: ['card_declined'] }).phases(async ({ foreign }) => {
    // @ts-expect-error: `disputed` is not in the list
    await foreign('charged', stripeCall(disputed));
  });
});
