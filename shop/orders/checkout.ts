import type { PhasesContext } from 'oncekit';
import { z } from 'zod';
import type { Client } from '../db.ts';
import { idempotency } from '../idempotency.ts';
import { paymentMethods } from '../payments/payment-methods.ts';
import { admitOrder } from './order-limit.ts';
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

/**
 * Sells a cart: placed, paid and booked once, by whatever process gets there. Once per cart, however many tabs and keys it is
 * sent from; a card that is declined frees it for another one.
 */
export const checkout = idempotency
  .operation({
    name: 'checkout',
    schema,
    admit: admitOrder,
    oncePer: ({ input }) => input.cart_id,
    onRefused: (tx, refused) => undoSale(tx, 'checkout', refused),
  })
  .phases(
    ({ input, ...steps }) =>
      sell(steps, {
        source: 'checkout',
        paymentMethod: input.payment_method,
        goods: (tx) => findCart(tx, input.cart_id, steps),
        deliverTo: {
          customerName: input.name,
          email: input.email,
          line1: input.line1,
          city: input.city,
          postalCode: input.postal_code,
          country: input.country,
        },
      }),
    { redirectTo: (order) => `/orders/${order.id}` },
  );

/** The shopper's cart; or a refusal. One that has an order is gone, also when the key that ordered it no longer is there. */
async function findCart(
  tx: Pick<Client, 'cart'>,
  id: string,
  { fail, scope: { principal } }: Pick<PhasesContext<unknown, unknown>, 'fail' | 'scope'>,
) {
  const isTheirs = { OR: [{ shopper: principal }, { account: principal }] };
  const cart = await tx.cart.findFirst({ where: { id, ...isTheirs, order: null } });
  if (cart) return { sku: cart.sku, quantity: cart.quantity, cartId: id };
  return fail('cart_not_found', undefined, { status: 404, message: 'This cart is not yours, or it is gone.' });
}
