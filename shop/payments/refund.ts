import { z } from 'zod';
import { idempotency } from '../idempotency.ts';
import { AMOUNT_PATTERN, centsOf } from '../orders/money.ts';
import { giveRefund, undoRefund } from './refunds.ts';

const schema = z.object({
  order_id: z.uuid('This form has lost its order. Open the order again.'),
  amount: z
    .string('Enter an amount, such as 12.50.')
    .trim()
    .regex(AMOUNT_PATTERN, 'Enter an amount, such as 12.50.')
    .transform(centsOf)
    .refine((cents) => cents > 0, 'Enter more than nothing.'),
});

/** The refund form: gives back all or part of what was paid, once. */
export const refund = idempotency
  .operation({ name: 'refund', schema, onRefused: (tx, refused) => undoRefund(tx, 'form', refused) })
  .phases(({ input, ...steps }) =>
    giveRefund(steps, { source: 'form', orderId: input.order_id, amountCents: input.amount }),
  );
