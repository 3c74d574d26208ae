import type { Origin } from 'oncekit/messaging';
import type { Client } from '../db.ts';
import { isOfOrder } from '../orders/orders.ts';
import { stageReceipt } from '../orders/receipts.ts';
import { announce } from '../outbox.ts';
import { post } from './ledger.ts';

type Tx = Pick<Client, 'order' | 'refund' | 'auditRecord' | 'ledgerEntry' | '$queryRaw' | '$queryRawUnsafe'>;

/** The way by which a refund was asked for: one key under two of them is two intents (K4). */
export type RefundSource = 'form' | 'api' | 'unexpected';

interface Reserved {
  id: string;
  orderId: string;
  tenant: string;
  principal: string;
  amountCents: number;
  source: RefundSource;
  key: string;
}

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

/** Writes a refund down before it is asked for, with its audit record. The caller holds the order's lock. */
export async function reserveRefund(
  tx: Tx,
  { id, source, key, ...whose }: Reserved,
  more: Record<string, string> = {},
): Promise<void> {
  const { amountCents, ...about } = whose;
  await tx.refund.create({ data: { id, ...whose, status: 'pending', source, idempotencyKey: key } });
  const data = { refundId: id, amountCents, ...more };
  await tx.auditRecord.create({ data: { action: 'refund.reserved', ...about, data } });
}

/** Writes down that it was given back. Throws where it is pending no longer: what is booked with it must not be. */
export async function settleRefund(tx: Tx, id: string, providerRefund: string): Promise<void> {
  const settled = { status: 'succeeded', providerRefund, settledAt: new Date() };
  const done = await tx.refund.updateMany({ where: { id, status: 'pending' }, data: settled });
  if (done.count !== 1) throw new Error(`Refund ${id} is done (${providerRefund}) but no longer pending.`);
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
