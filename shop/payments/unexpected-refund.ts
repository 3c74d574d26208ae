import { derivedId } from 'oncekit';
import { createAdmin, joinTransaction } from 'oncekit/admin';
import { z } from 'zod';
import { idempotency } from '../idempotency.ts';
import { lockOrder } from '../orders/orders.ts';
import { stageReceipt } from '../orders/receipts.ts';
import { CURRENCY } from './charge.ts';
import { operationOf } from './events/conclusion.ts';
import { postReturn } from './ledger.ts';
import { reserveRefund, settleRefund } from './refund-booking.ts';
import { giveBack, RETURN_STEP } from './refund-call.ts';
import { undoRefund } from './refunds.ts';
import { findUnexpectedMoney, isReturnable, noteSeen } from './unexpected-money.ts';

const schema = z.object({
  /** The audit record of the payment. */
  record: z.string().regex(/^\d{1,18}$/),
  order_id: z.uuid(),
  /** The admin who asks for it. */
  actor: z.string().min(1).max(255),
});

/**
 * Gives back a payment that nobody expected, all of it, once for the payment: by whatever key, form or admin it is asked for.
 * Under the names of the order's customer, whose money it is. The order itself stays as it is.
 */
export const unexpectedRefund = idempotency
  .operation({
    name: 'refund.unexpected',
    schema,
    oncePer: ({ input }) => input.record,
    onRefused: (tx, refused) => undoRefund(tx, 'unexpected', refused),
  })
  .phases(async ({ input, atomic, foreign, fail, key, scope }) => {
    const { record, order_id: orderId, actor } = input;
    const { tenant, principal } = scope;
    const id = derivedId({ scope, key }, 'refund');

    const payment = await atomic('refund_reserved', async (tx) => {
      const order = await lockOrder(tx, orderId, scope);
      // Behind the lock: whoever has seen to it is committed.
      const money = order && (await findUnexpectedMoney(tenant, record, tx));
      if (!money || money.order.id !== orderId || !isReturnable(money, CURRENCY)) return fail('seen_to');
      const [paymentIntent, amountCents] = [String(money.data.paymentIntent), Number(money.data.amountCents)];
      const whose = { tenant, principal };
      const reserved = { id, orderId, ...whose, amountCents, source: 'unexpected', key } as const;
      await reserveRefund(tx, reserved, { paymentIntent, record });
      const about = { ...whose, operation: operationOf('order', money.order.source) ?? '' };
      await createAdmin({ prisma: joinTransaction(tx) }).record({
        ...{ type: 'payment_refunded', actor, ...about, key: money.order.idempotencyKey ?? '' },
        detail: { payment: paymentIntent, cents: String(amountCents) },
      });
      return { paymentIntent, amountCents };
    });

    const { paymentIntent, amountCents } = payment;
    const wanted = { refundId: id, orderId, paymentIntent, amountCents, paidCents: amountCents };
    const returned = await foreign(RETURN_STEP, giveBack(wanted));
    if ('refused' in returned) return fail('refund_refused', { code: returned.refused });

    return atomic('refunded', async (tx) => {
      await lockOrder(tx, orderId, scope);
      const { providerRefund } = returned;
      await settleRefund(tx, id, providerRefund);
      await postReturn(tx, { orderId, refundId: id, amountCents });
      const money = await findUnexpectedMoney(tenant, record, tx);
      if (money) await noteSeen(tx, money, actor, { refundId: id, providerRefund });
      await stageReceipt(tx, 'refund_receipt', id);
      return { id, amountCents };
    });
  });
