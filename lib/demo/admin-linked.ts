import type { Scope } from 'oncekit';
import { db } from './db.ts';
import { findOrderOfKey } from './orders.ts';

/** What of the shop's own a key has made. */
export interface LinkedRows {
  order: { id: string; status: string; amountCents: number } | null;
  refund: { id: string; orderId: string; status: string; amountCents: number } | null;
}

/** Where the refunds of an operation come from. */
const SOURCES: Record<string, string> = { refund: 'form', 'refunds.create': 'api' };

/** The shop's rows that a key has made. For the admin alone. */
export async function linkedRows(id: Scope & { key: string }): Promise<LinkedRows> {
  const [order, refund] = await Promise.all([findOrderOfKey(id), refundOf(id)]);
  return { order, refund };
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
