import { randomUUID } from 'node:crypto';
import { idempotency } from '../idempotency.ts';
import type { PlacedOrder } from '../orders/orders.ts';
import { takeStock } from '../orders/products.ts';
import { parcelSchema } from './parcel-schema.ts';

/** An order of several products, and its particulars in words. */
export interface ParcelOrder extends PlacedOrder {
  remark: string;
}

/** The server's own rule: no page knows it, so its error comes with the answer. */
const schema = parcelSchema.superRefine(({ lines }, { addIssue }) => {
  for (const [n, { quantity }] of lines.entries()) {
    if (quantity > 10) addIssue({ code: 'custom', path: ['lines', n, 'quantity'], message: 'At most ten.' });
  }
});

const parcelOrder = idempotency
  .operation({ name: 'example.parcel', schema })
  .handler(async ({ input, tx, key, scope, capture, fail }): Promise<ParcelOrder> => {
    let amountCents = 0;
    for (const { sku, quantity } of input.lines) {
      if (!(await takeStock(tx, sku, quantity)))
        return fail('out_of_stock', { sku }, { status: 409, message: SOLD_OUT });
      const { priceCents } = await tx.product.findUniqueOrThrow({ where: { sku } });
      amountCents += priceCents * quantity;
    }
    const order = {
      id: await capture('order_id', randomUUID),
      sku: input.lines.map(({ sku }) => sku).join(', '),
      quantity: input.lines.reduce((sum, { quantity }) => sum + quantity, 0),
      amountCents,
      status: 'pending',
    };
    const { tenant, principal } = scope;
    const from = { tenant, principal, source: 'lab', idempotencyKey: key, paymentMethod: 'pm_card_visa' };
    await tx.order.create({ data: { ...order, ...from } });
    return { ...order, remark: describe(input) };
  });

const SOLD_OUT = 'Sorry, one of these has just sold out.';

/** Under a name of its own for each example, so that the keys of one are unknown to the others. */
export const hookRowsOrder = parcelOrder.as('example.react-hook-form-rows');
export const tanstackFormOrder = parcelOrder.as('example.tanstack-form');
export const conformOrder = parcelOrder.as('example.conform');

function describe({ lines, express, deliverOn, extras }: (typeof schema)['_output']): string {
  const goods = lines.map(({ sku, quantity }) => `${quantity} × ${sku}`).join(', ');
  const day = deliverOn.toISOString().slice(0, 10);
  return `${goods}; ${express ? 'express' : 'standard'} on ${day}; ${extras.join(', ') || 'no extras'}`;
}
