import type { Principal, Scope } from 'oncekit';
import { z } from 'zod';
import { type Client, db } from '../db.ts';
import { announce } from '../outbox.ts';
import { isOwner, namesOf } from '../session/adoption.ts';
import { returnStock } from './products.ts';

/** The result of an operation: enough to show, nothing personal, because it is stored with the key. */
export interface PlacedOrder {
  id: string;
  sku: string;
  quantity: number;
  amountCents: number;
  status: string;
}

/** An order; null when there is none, and just so when it is somebody else's. */
export async function findOrder(id: string, who: Principal | null) {
  const order = who && (await findAnyOrder(id));
  return order && order.tenant === who.tenant && (await isOwner(who, order.principal)) ? order : null;
}

/** An order, whoever placed it. For the admin alone. */
export async function findAnyOrder(id: string) {
  if (!z.uuid().safeParse(id).success) return null;
  const order = await db().order.findUnique({
    where: { id },
    include: { refunds: { orderBy: { createdAt: 'asc' } } },
  });
  if (!order) return null;
  const product = await db().product.findUnique({ where: { sku: order.sku } });
  return { ...order, productName: product?.name ?? order.sku, refundableCents: refundable(order, order.refunds) };
}

/**
 * Tells whether a refund is of the payment that the order is paid by. One of a payment that nobody expected gives back what the
 * books have never held for the order.
 */
export function isOfOrder({ source }: { source: string }): boolean {
  return source !== 'unexpected';
}

/**
 * The amount left to give back. A refund that has not failed counts, wherever it was asked for, also a refund whose outcome
 * nobody knows yet. That one and one on the provider's own pages may exceed the payment together; the provider refuses one.
 */
export function refundable(
  { amountCents, paymentIntent }: { amountCents: number; paymentIntent: string | null },
  refunds: readonly { amountCents: number; status: string; source: string }[],
): number {
  if (!paymentIntent) return 0;
  const reserved = refunds.filter((refund) => refund.status !== 'failed' && isOfOrder(refund));
  return Math.max(0, amountCents - reserved.reduce((sum, refund) => sum + refund.amountCents, 0));
}

export interface LockedOrder {
  id: string;
  status: string;
  sku: string;
  quantity: number;
  amountCents: number;
  paymentIntent: string | null;
}

/**
 * Locks the order until the transaction ends, for whoever owns it; undefined when there is none, and just so when it
 * is somebody else's. Whoever changes an order, or decides by its status or its refunds, does it behind this lock. It
 * prevents this: two refunds both find enough left and give back more than was paid; an order is cancelled while its
 * card is being charged.
 *
 * A worker has no session: the row of the adoption tells that the order of a shopper who has signed in is the account's.
 */
export async function lockOrder(
  tx: Pick<Client, '$queryRaw'>,
  id: string,
  { tenant, principal }: Pick<Scope, 'tenant' | 'principal'>,
): Promise<LockedOrder | undefined> {
  const [order] = await tx.$queryRaw<LockedOrder[]>`
    SELECT o.id, o.status, o.sku, o.quantity, o.amount_cents AS "amountCents", o.payment_intent AS "paymentIntent"
    FROM orders o
    WHERE o.id = ${id}::uuid AND o.tenant = ${tenant}
      AND (o.principal = ${principal}
           OR EXISTS (SELECT FROM adopted_shoppers a WHERE a.shopper = o.principal AND a.account = ${principal}))
    FOR UPDATE`;
  return order;
}

/** The parts of an order that giving it up needs. */
export type Unpaid = Pick<LockedOrder, 'id' | 'sku' | 'quantity'>;

/**
 * Ends an order that nobody has paid, if it still has the status `from`: its goods go back into stock, and its cart is
 * free to be ordered again (the order keeps what was in it). Says whether it did. The UPDATE names the status it
 * leaves, so that goods go back once.
 */
export async function giveUp(
  tx: Pick<Client, 'order' | 'product'>,
  { id, sku, quantity }: Unpaid,
  from: 'pending' | 'paying',
  to: 'payment_failed' | 'cancelled',
): Promise<boolean> {
  const given = await tx.order.updateMany({ where: { id, status: from }, data: { status: to, cartId: null } });
  if (given.count === 0) return false;
  await returnStock(tx, sku, quantity);
  return true;
}

const tooLate: Record<string, string> = {
  paying: 'This order is being paid just now. Once it is paid, you can have the money back.',
  paid: 'This order is paid. You can have the money back instead.',
  payment_failed: 'This order was never paid: there is nothing to cancel.',
};

/**
 * Cancels an order that the caller has locked, if it is not too late; else says in words why it is. Goods go back
 * once: of an order that is cancelled already, nothing is left to do.
 */
export async function callOff(
  tx: Pick<Client, 'order' | 'product' | 'auditRecord' | '$queryRawUnsafe'>,
  order: LockedOrder,
  { tenant, principal }: Pick<Scope, 'tenant' | 'principal'>,
): Promise<string | undefined> {
  const { id, status } = order;
  if (status === 'cancelled') return undefined;
  if (!(await giveUp(tx, order, 'pending', 'cancelled'))) return tooLate[status] ?? 'It is too late for that.';
  await tx.auditRecord.create({ data: { action: 'order.cancelled', tenant, principal, orderId: id } });
  await announce(tx, { type: 'order.cancelled', orderId: id });
  return undefined;
}

/** Where the orders of an operation come from. */
const SOURCES: Record<string, string> = { checkout: 'checkout', 'orders.create': 'api', 'lab.order': 'lab' };

/** Where the orders of an operation come from; undefined where it places none. The examples sell what the lab sells. */
export function sourceOf(operation: string): string | undefined {
  return operation.startsWith('example.') ? 'lab' : SOURCES[operation];
}

/** The order that a key placed. The same key under another operation is another intent, and may have another order. */
export async function findOrderOfKey({ tenant, principal, operation, key }: Scope & { key: string }) {
  const source = sourceOf(operation);
  if (!source) return null;
  return db().order.findFirst({
    where: { tenant, principal, source, idempotencyKey: key },
    select: { id: true, status: true, amountCents: true, customerName: true, email: true },
  });
}

/** How many orders each of the lab's two forms has made for this principal. */
export async function countLabOrders(who: Principal | null): Promise<{ lab: number; plain: number }> {
  if (!who) return { lab: 0, plain: 0 };
  const owner = { tenant: who.tenant, principal: { in: await namesOf(who) } };
  const [lab, plain] = await Promise.all([
    db().order.count({ where: { ...owner, source: { in: ['lab', 'api'] } } }),
    db().order.count({ where: { ...owner, source: 'plain' } }),
  ]);
  return { lab, plain };
}
