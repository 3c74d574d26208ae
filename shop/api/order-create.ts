import { idempotency } from '../idempotency.ts';
import { admitOrder } from '../orders/order-limit.ts';
import type { PlacedOrder } from '../orders/orders.ts';
import { sell, undoSale } from '../orders/sale.ts';
import { etagOf, viewOf } from './order-view.ts';
import { newOrder } from './schemas.ts';

/** Places an order by the API: the same sale as the checkout's, without a cart. Placed, paid and booked once. */
export const createOrder = idempotency
  .operation({
    name: 'orders.create',
    acceptKeys: 'any', // clients make their keys, and may give them up
    schema: newOrder,
    admit: admitOrder,
    onRefused: (tx, refused) => undoSale(tx, 'api', refused),
  })
  .phases(({ input: { sku, quantity, payment_method }, ...steps }) =>
    sell(steps, {
      source: 'api',
      paymentMethod: payment_method,
      goods: async () => ({ sku, quantity, cartId: null }),
      deliverTo: {},
    }),
  );

/** 201, with the ETag under which the caller may change the order at once. */
export function orderCreated(order: PlacedOrder): Response {
  const view = viewOf(order);
  return Response.json(view, { status: 201, headers: { Location: `/api/orders/${order.id}`, ETag: etagOf(view) } });
}
