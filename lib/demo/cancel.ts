import { z } from 'zod';
import { idempotency } from './idempotency.ts';
import { giveUp, lockOrder, type PlacedOrder } from './orders.ts';

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
    const cancelled = { id, sku, quantity, amountCents, status: 'cancelled' };
    // Wanted and so: another key cancelled it, and no goods go back a second time.
    if (status === 'cancelled') return cancelled;
    if (!(await giveUp(tx, order, 'pending', 'cancelled'))) {
      return fail(
        'not_cancellable',
        { status },
        { status: 409, message: reasons[status] ?? 'It is too late for that.' },
      );
    }
    const { tenant, principal } = scope;
    await tx.auditRecord.create({ data: { action: 'order.cancelled', tenant, principal, orderId: id } });
    return cancelled;
  });

const reasons: Record<string, string> = {
  paying: 'This order is being paid just now. Once it is paid, you can have the money back.',
  paid: 'This order is paid. You can have the money back instead.',
  payment_failed: 'This order was never paid: there is nothing to cancel.',
};
