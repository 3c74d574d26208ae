import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Client } from './db.ts';
import { idempotency } from './idempotency.ts';
import type { PlacedOrder } from './orders.ts';
import { paymentMethods } from './payment-methods.ts';
import { takeStock } from './products.ts';

// PostgreSQL cannot store NUL: refused here in words, and not there as an error.
const text = (words: string) =>
  z
    .string()
    .trim()
    .min(1, words)
    .max(200, 'That is too long.')
    .regex(/^[^\0]*$/, 'Remove the invisible characters.');

const schema = z.object({
  cart_id: z.uuid('This form has lost its cart. Open the checkout again.'),
  name: text('Enter your name.'),
  email: z.email('Enter an e-mail address, such as ada@example.com.').max(200),
  line1: text('Enter the street and number.'),
  city: text('Enter the city.'),
  postal_code: text('Enter the postal code.').max(20, 'That is too long.'),
  country: text('Enter the country.').max(60, 'That is too long.'),
  payment_method: z.enum(paymentMethods, 'Choose how to pay.'),
});

/** Sells a cart: stock, order and audit record in one transaction with the key. */
export const checkout = idempotency
  .operation({ name: 'checkout', schema })
  .handler(async ({ input, tx, key, scope, capture, fail }): Promise<PlacedOrder> => {
    // A refusal commits what was written before it, so everything is checked before anything is written.
    const cart = await lockCart(tx, input.cart_id, scope.principal);
    if (!cart) {
      return fail('cart_not_found', undefined, { status: 404, message: 'This cart is not yours, or it is gone.' });
    }
    const earlier = await tx.order.findUnique({ where: { cartId: cart.id } });
    if (earlier) {
      const message = 'This cart has been ordered already.';
      return fail('already_ordered', { orderId: earlier.id }, { status: 409, message });
    }
    const { sku, quantity } = cart;
    const product = await tx.product.findUniqueOrThrow({ where: { sku } });
    if (!(await takeStock(tx, sku, quantity))) {
      return fail('out_of_stock', { sku }, { status: 409, message: `Sorry, ${product.name} has just sold out.` });
    }

    const id = await capture('order_id', randomUUID);
    const amountCents = await capture('amount_cents', () => product.priceCents * quantity);
    const { tenant, principal } = scope;
    const order = await tx.order.create({
      data: {
        id,
        cartId: cart.id,
        tenant,
        principal,
        sku,
        quantity,
        amountCents,
        status: 'pending',
        source: 'checkout',
        idempotencyKey: key,
        paymentMethod: input.payment_method,
        customerName: input.name,
        email: input.email,
        line1: input.line1,
        city: input.city,
        postalCode: input.postal_code,
        country: input.country,
      },
    });
    await tx.auditRecord.create({
      data: { action: 'order.placed', tenant, principal, orderId: id, data: { sku, quantity, amountCents } },
    });
    return { id, sku, quantity, amountCents, status: order.status };
  });

/**
 * Locks the cart's row until the transaction ends. It prevents this: two tabs send the same cart under two keys, both
 * find no order, and the second then breaks `orders.cart_id` with an error instead of an answer.
 */
async function lockCart(tx: Pick<Client, '$queryRaw'>, id: string, owner: string) {
  const [cart] = await tx.$queryRaw<{ id: string; sku: string; quantity: number }[]>`
    SELECT id, sku, quantity FROM carts WHERE id = ${id}::uuid AND (shopper = ${owner} OR account = ${owner}) FOR UPDATE`;
  return cart;
}
