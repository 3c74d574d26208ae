import type { Principal } from 'oncekit';
import { db } from '../db.ts';
import { namesOf } from '../session/adoption.ts';
import { labOrder } from './order.ts';

/** The lab's order, under a name of its own for each example, so that the keys of one are unknown to the others. */
export const hookFormOrder = labOrder.as('example.react-hook-form');
export const queryOrder = labOrder.as('example.tanstack-query');
export const safeActionOrder = labOrder.as('example.next-safe-action');

/** How many orders this principal has placed with an example's forms: what the database holds, by way of the keys. */
export async function countExampleOrders(operation: string | string[], who: Principal | null): Promise<number> {
  if (!who) return 0;
  const owner = { tenant: who.tenant, principal: { in: await namesOf(who) } };
  const keys = await db().idempotencyKey.findMany({
    where: { ...owner, operation: { in: [operation].flat() } },
    select: { key: true },
  });
  // Owned orders only: a key says nothing about whose it is.
  return db().order.count({ where: { ...owner, idempotencyKey: { in: keys.map(({ key }) => key) } } });
}
