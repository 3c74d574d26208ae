import type { Principal } from 'oncekit';
import type { Received } from 'oncekit/messaging';
import { z } from 'zod';
import { db } from '../db.ts';
import { inbox } from '../inbox.ts';
import { namesOf } from '../session/adoption.ts';

/** The longest text of a column. */
const text = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .refine((given) => !given.includes('\0') && given.isWellFormed());

/**
 * An event of the shop's as it arrives; none that the database would refuse. The payload is kept as text: a repetition
 * must be the same bytes.
 */
export const shopEvent = z.object({
  id: text(255),
  type: text(100),
  aggregate: text(255),
  sequence: z.int().min(1).max(2_147_483_647),
  data: z.unknown(),
});
export type ShopEvent = z.output<typeof shopEvent>;

/**
 * The demo's receiver: counts each delivery, and lets the event take effect once. Acknowledge whatever it answers but
 * `failed`, and `dead` that is not kept. The count is outside the effect's transaction on purpose: what arrived stays
 * counted when nothing is done.
 */
export async function receiveShopEvent(by: 'webhooks' | 'streams', event: ShopEvent): Promise<Received<unknown>> {
  const { id, type, aggregate, sequence, data = null } = event;
  await db().receivedEvent.upsert({
    where: { id },
    create: { id, type, aggregate, sequence, payload: JSON.stringify(data), [by]: 1 },
    update: { [by]: { increment: 1 }, lastAt: new Date() },
  });
  return await inbox.receiveOnce({ source: 'shop', eventId: id, payload: { type, aggregate, sequence, data } });
}

/** An event as the receiver's page shows it. */
export interface ReceivedRow {
  id: string;
  type: string;
  orderId: string;
  sequence: number;
  /** Null: it is about no money. */
  amountCents: number | null;
  webhooks: number;
  streams: number;
  effects: number;
  firstAt: Date;
}

/** Events that the receiver got about a visitor's own orders, newest first. Others' orders are none of their business. */
export async function listReceived(who: Principal | null, limit: number): Promise<ReceivedRow[]> {
  if (!who) return [];
  const orders = await db().order.findMany({
    where: { tenant: who.tenant, principal: { in: await namesOf(who) } },
    select: { id: true },
    orderBy: { createdAt: 'desc' },
    take: limit,
  });
  const orderIds = new Map(orders.map(({ id }) => [`order:${id}`, id]));
  const rows = await db().receivedEvent.findMany({
    where: { aggregate: { in: [...orderIds.keys()] } },
    orderBy: [{ firstAt: 'desc' }, { id: 'desc' }],
    take: limit,
  });
  return rows.map(({ payload, lastAt, aggregate, ...row }) => {
    const { amountCents } = about.parse(JSON.parse(payload));
    return { ...row, orderId: orderIds.get(aggregate) as string, amountCents };
  });
}

/** The part of a payload that the page shows: a cancelled order has none. */
const about = z.object({ amountCents: z.int().nullable().catch(null) }).catch({ amountCents: null });

/** How many events came, how many deliveries that took, and how many effects there were. */
export async function countReceived(): Promise<{ events: number; deliveries: number; effects: number }> {
  const { _count, _sum } = await db().receivedEvent.aggregate({
    _count: true,
    _sum: { webhooks: true, streams: true, effects: true },
  });
  return {
    events: _count,
    deliveries: (_sum.webhooks ?? 0) + (_sum.streams ?? 0),
    effects: _sum.effects ?? 0,
  };
}
