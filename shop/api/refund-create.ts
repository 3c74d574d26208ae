import { z } from 'zod';
import { idempotency } from '../idempotency.ts';
import { giveRefund, type RefundMade, undoRefund } from '../payments/refunds.ts';
import { newRefund } from './schemas.ts';

/** The name of no order: what cannot be one's name is answered as an order that is not there. */
const NONE = '00000000-0000-0000-0000-000000000000';

const schema = newRefund.extend({ order_id: z.uuid().catch(NONE) });

/** Gives money back by the API: what the refund form does, under a key of its own. */
export const createRefund = idempotency
  .operation({
    name: 'refunds.create',
    acceptKeys: 'any',
    schema,
    onRefused: (tx, refused) => undoRefund(tx, 'api', refused),
  })
  .phases(({ input, ...steps }) =>
    giveRefund(steps, { source: 'api', orderId: input.order_id, amountCents: input.amount_cents }),
  );

/** The order is named by the path, whatever the body says. */
export function refundInput(body: unknown, { params }: { params: Record<string, unknown> }): unknown {
  return typeof body === 'object' && body !== null ? { ...body, order_id: params.id } : body;
}

export function refundCreated({ id, orderId, amountCents, status, orderStatus }: RefundMade): Response {
  const refund = { id, order_id: orderId, amount_cents: amountCents, status, order_status: orderStatus };
  return Response.json(refund, { status: 201 });
}
