import { randomUUID } from 'node:crypto';
import type { HandlerContext } from 'oncekit';
import { z } from 'zod';
import type { Client } from '../db.ts';
import { idempotency } from '../idempotency.ts';
import type { PlacedOrder } from '../orders/orders.ts';
import { takeStock } from '../orders/products.ts';

/** The product of every kind of form: mugs. */
export interface MugOrder extends PlacedOrder {
  /** Its particulars, in words. Nothing that was entered: it is stored with the key. */
  remark: string;
}

/** How many mugs, as a form has it. */
export const quantity = z.coerce
  .number('Enter a number.')
  .int('Enter a whole number.')
  .min(1, 'At least one.')
  .max(10, 'At most ten.');

/** Below what Next accepts in an action (next.config.ts): what is larger never gets as far as these words. */
export const MAX_PICTURE_BYTES = 500_000;

/** A file. It counts in the fingerprint by its content, so that another picture of the same name is noticed. */
export const printOrder = idempotency
  .operation({
    name: 'example.print',
    schema: z.object({
      // A file field that was left alone sends an empty file.
      picture: z.file().min(1, 'Choose a picture.').max(MAX_PICTURE_BYTES, 'At most 500 kB, please.'),
    }),
  })
  .handler(({ input, ...call }) =>
    sellMugs(call, { quantity: 1, remark: `with your picture of ${input.picture.size.toLocaleString('en-US')} bytes` }),
  );

export const WRAPPING_CENTS = 500;

/** Two submit buttons that differ in their value, and a nested fieldset that is sent only while it is enabled. */
export const giftOrder = idempotency
  .operation({
    name: 'example.gift',
    schema: z.object({
      quantity,
      wrap: z.enum(['none', 'gift']).default('none'),
      note: z.string().trim().min(1, 'Write a note, or clear the box above.').max(200, 'That is too long.').optional(),
    }),
  })
  .handler(({ input, ...call }) => {
    const isGift = input.wrap === 'gift';
    const remark = `${isGift ? 'gift-wrapped' : 'not wrapped'}, ${input.note ? 'with' : 'without'} a note`;
    return sellMugs(call, { quantity: input.quantity, extraCents: isGift ? WRAPPING_CENTS : 0, remark });
  });

/** The action of a button with a `formAction` of its own: whatever stands in the form around it is no part of it. */
export const sampleOrder = idempotency
  .operation({ name: 'example.sample', schema: z.object({}), fingerprint: () => null })
  .handler((call) => sellMugs(call, { quantity: 1, remark: 'a sample' }));

const name = z.string('Enter a name.').trim().min(1, 'Enter a name.').max(100, 'That is too long.');

/** The simplest form: a server component, and nothing of its own in the browser. */
export const simplestOrder = idempotency
  .operation({ name: 'example.simplest', schema: z.object({ quantity }) })
  .handler(({ input, ...call }) => sellMugs(call, { quantity: input.quantity, remark: 'ordered most simply' }));

/** A form in steps: one intent, one key, one submit. */
export const stepsOrder = idempotency
  .operation({
    name: 'example.steps',
    schema: z.object({ quantity, customer_name: name, city: name }),
  })
  .handler(({ input, ...call }) =>
    sellMugs(call, {
      quantity: input.quantity,
      remark: 'ordered in steps',
      customerName: input.customer_name,
      city: input.city,
    }),
  );

/** A form in a dialog, which may be closed before the answer is there. */
export const dialogOrder = idempotency
  .operation({ name: 'example.dialog', schema: z.object({ quantity }) })
  .handler(({ input, ...call }) => sellMugs(call, { quantity: input.quantity, remark: 'ordered in a dialog' }));

interface Wanted {
  quantity: number;
  extraCents?: number;
  remark: string;
  customerName?: string;
  city?: string;
}

type Call = Pick<HandlerContext<never, Pick<Client, 'product' | 'order'>>, 'tx' | 'key' | 'scope' | 'capture' | 'fail'>;

/** Takes mugs out of stock and writes the order, in the transaction of the key. */
export async function sellMugs(
  { tx, key, scope, capture, fail }: Call,
  { quantity, extraCents = 0, remark, ...shipping }: Wanted,
): Promise<MugOrder> {
  const sku = 'mug';
  if (!(await takeStock(tx, sku, quantity))) {
    return fail('out_of_stock', { sku }, { status: 409, message: 'Sorry, the mugs have just sold out.' });
  }
  const { priceCents } = await tx.product.findUniqueOrThrow({ where: { sku } });
  const { tenant, principal } = scope;
  const order = {
    id: await capture('order_id', randomUUID),
    sku,
    quantity,
    amountCents: priceCents * quantity + extraCents,
    status: 'pending',
  };
  const from = { tenant, principal, source: 'lab', idempotencyKey: key, paymentMethod: 'pm_card_visa' };
  await tx.order.create({ data: { ...order, ...from, ...shipping } });
  return { ...order, remark };
}
