import type { PhasesContext } from 'oncekit';
import { z } from 'zod';
import type { Client } from '../db.ts';
import { idempotency } from '../idempotency.ts';
import { paymentMethods } from '../payments/payment-methods.ts';
import { sell, undoSale } from './sale.ts';

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

/** Sells a cart: placed, paid and booked once, by whatever process gets there. */
export const checkout = idempotency
  .operation({ name: 'checkout', schema, onRefused: (tx, refused) => undoSale(tx, 'checkout', refused) })
  .phases(({ input, ...steps }) =>
    sell(steps, {
      source: 'checkout',
      paymentMethod: input.payment_method,
      goods: (tx) => claimCart(tx, input.cart_id, steps),
      deliverTo: {
        customerName: input.name,
        email: input.email,
        line1: input.line1,
        city: input.city,
        postalCode: input.postal_code,
        country: input.country,
      },
    }),
  );

/** The shopper's cart, for this order alone; or a refusal. */
async function claimCart(
  tx: Pick<Client, 'order' | '$queryRaw'>,
  id: string,
  { fail, scope }: Pick<PhasesContext<unknown, unknown>, 'fail' | 'scope'>,
) {
  const cart = await lockCart(tx, id, scope.principal);
  if (!cart) {
    return fail('cart_not_found', undefined, { status: 404, message: 'This cart is not yours, or it is gone.' });
  }
  const earlier = await tx.order.findUnique({ where: { cartId: id } });
  if (!earlier) return { ...cart, cartId: id };
  const message =
    earlier.status === 'paying'
      ? 'This cart is already being paid for, maybe in another tab.'
      : 'This cart has been ordered already.';
  return fail('already_ordered', { orderId: earlier.id }, { status: 409, message });
}

/**
 * Locks the cart's row until the transaction ends. It prevents this: two tabs send the same cart under two keys, both
 * find no order, and the second then breaks `orders.cart_id` with an error instead of an answer.
 */
async function lockCart(tx: Pick<Client, '$queryRaw'>, id: string, owner: string) {
  const [cart] = await tx.$queryRaw<{ sku: string; quantity: number }[]>`
    SELECT sku, quantity FROM carts WHERE id = ${id}::uuid AND (shopper = ${owner} OR account = ${owner}) FOR UPDATE`;
  return cart;
}
