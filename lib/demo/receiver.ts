import type { Received } from 'oncekit/messaging';
import { z } from 'zod';
import { db } from './db.ts';
import { inbox } from './inbox.ts';

/** An event of the shop's as it arrives. The payload is kept as text: a repetition must be the same bytes. */
export const shopEvent = z.object({
  id: z.string().min(1).max(255),
  type: z.string().min(1).max(100),
  aggregate: z.string().min(1).max(255),
  sequence: z.int().min(1),
  data: z.unknown(),
});
export type ShopEvent = z.output<typeof shopEvent>;

/**
 * The demo's receiver: counts each delivery, and lets the event take effect once. Acknowledge whatever it answers but
 * `failed`. The count is outside the effect's transaction on purpose: what arrived stays counted when nothing is done.
 */
export async function receiveShopEvent(by: 'webhooks' | 'streams', event: ShopEvent): Promise<Received<unknown>> {
  const { id, type, aggregate, sequence, data } = event;
  await db().receivedEvent.createMany({
    data: [{ id, type, aggregate, sequence, payload: JSON.stringify(data) }],
    skipDuplicates: true,
  });
  await db().receivedEvent.update({
    where: { id },
    data: { [by]: { increment: 1 }, lastAt: new Date() },
  });
  return await inbox.receiveOnce({ source: 'shop', eventId: id, payload: { type, aggregate, sequence, data } });
}

/** What the receiver got, newest first. */
export async function listReceived(limit: number) {
  return await db().receivedEvent.findMany({ orderBy: { firstAt: 'desc' }, take: limit });
}

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
