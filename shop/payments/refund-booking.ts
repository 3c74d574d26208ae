import type { Origin } from 'oncekit/messaging';
import type { Client } from '../db.ts';
import { isOfOrder } from '../orders/orders.ts';
import { stageReceipt } from '../orders/receipts.ts';
import { announce } from '../outbox.ts';
import { post } from './ledger.ts';

type Tx = Pick<Client, 'order' | 'refund' | 'auditRecord' | 'ledgerEntry' | '$queryRaw' | '$queryRawUnsafe'>;

/** Money that has gone back: its refund has been written down as `succeeded`, by this transaction. */
interface Given {
  refundId: string;
  orderId: string;
  tenant: string;
  principal: string;
  amountCents: number;
  /** The amount paid. */
  paidCents: number;
  providerRefund: string;
}

/**
 * Books a refund once: ledger, the order's status, audit record, receipt and announcement are one commit with it.
 * Returns the order's status. Call it behind the order's lock: of two partial refunds that end at once, neither would
 * count the other, and nobody would say "refunded" though nothing is left.
 *
 * @param from the intent it comes from, where there is one
 */
export async function bookRefund(tx: Tx, given: Given, from?: Origin): Promise<string> {
  const { refundId, orderId, tenant, principal, amountCents, providerRefund } = given;
  await post(tx, { orderId, refundId, amountCents });
  const done = await tx.refund.findMany({ where: { orderId, status: 'succeeded' } });
  const returned = done.filter(isOfOrder).reduce((sum, refund) => sum + refund.amountCents, 0);
  const orderStatus = returned >= given.paidCents ? 'refunded' : 'partially_refunded';
  // Names the statuses it leaves: money that was never booked here, or is back already, is not booked out of it.
  const marked = await tx.order.updateMany({
    where: { id: orderId, status: { in: ['paid', 'partially_refunded'] } },
    data: { status: orderStatus },
  });
  if (marked.count !== 1) throw new Error(`${providerRefund} was given back, but order ${orderId} holds nothing.`);
  const data = { refundId, amountCents, providerRefund };
  await tx.auditRecord.create({ data: { action: 'order.refunded', tenant, principal, orderId, data } });
  await stageReceipt(tx, 'refund_receipt', refundId);
  await announce(tx, { type: 'order.refunded', orderId, refundId, amountCents, orderStatus }, from);
  return orderStatus;
}
