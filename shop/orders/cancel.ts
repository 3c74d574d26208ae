import { z } from 'zod';
import { idempotency } from '../idempotency.ts';
import { callOff, lockOrder, type PlacedOrder } from './orders.ts';

const schema = z.object({ order_id: z.uuid('This form has lost its order. Open the order again.') });

/** Cancels an order before payment, once: its goods go back with it, in one transaction. */
export const cancelOrder = idempotency
  .operation({ name: 'order.cancel', schema })
  .handler(async ({ input, tx, scope, fail }): Promise<PlacedOrder> => {
    const order = await lockOrder(tx, input.order_id, scope);
    if (!order) {
      return fail('order_not_found', undefined, { status: 404, message: 'This order is not yours, or it is gone.' });
    }
    const { id, sku, quantity, amountCents, status } = order;
    const tooLate = await callOff(tx, order, scope);
    if (tooLate) return fail('not_cancellable', { status }, { status: 409, message: tooLate });
    return { id, sku, quantity, amountCents, status: 'cancelled' };
  });
