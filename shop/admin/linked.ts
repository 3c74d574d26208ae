import type { Scope } from 'oncekit';
import { db } from '../db.ts';
import { dollars } from '../orders/money.ts';
import { findOrderOfKey } from '../orders/orders.ts';

/** A row of the app's own that a key has made, as the page of the key shows it. */
export interface LinkedRow {
  /** Its kind, such as `Order`. */
  name: string;
  text: string;
  /** Its page. */
  href?: string;
}

/** What the foreign calls of the shop do, by their steps. */
export const callWords: Readonly<Record<string, string>> = { charge_created: 'charged', refund_created: 'given back' };

/** Where the refunds of an operation come from. */
const SOURCES: Record<string, string> = { refund: 'form', 'refunds.create': 'api', 'refund.unexpected': 'unexpected' };

/** The shop's rows that a key has made. For the admin alone. */
export async function linkedRows(id: Scope & { key: string }): Promise<LinkedRow[]> {
  const [order, refund] = await Promise.all([findOrderOfKey(id), refundOf(id)]);
  return [
    ...(order ? [row('Order', order, order.id)] : []),
    ...(refund ? [row('Refund', refund, refund.orderId)] : []),
  ];
}

/** A refund stands on the page of its order. */
function row(name: string, made: { id: string; status: string; amountCents: number }, orderId: string): LinkedRow {
  const { id, status, amountCents } = made;
  return { name, text: `${id} (${status.replaceAll('_', ' ')}, ${dollars(amountCents)})`, href: `/orders/${orderId}` };
}

/** One key under two operations is two intents: each finds its own refund. */
async function refundOf({ tenant, principal, operation, key }: Scope & { key: string }) {
  const source = SOURCES[operation];
  if (!source) return null;
  return db().refund.findFirst({
    where: { tenant, principal, source, idempotencyKey: key },
    select: { id: true, orderId: true, status: true, amountCents: true },
  });
}
