import type { Principal } from 'oncekit';
import { z } from 'zod';
import { db } from './db.ts';
import { namesOf } from './visitor.ts';

/** What an operation answers with: enough to show, nothing personal, because it is stored with the key. */
export interface PlacedOrder {
  id: string;
  sku: string;
  quantity: number;
  amountCents: number;
  status: string;
}

/** An order; null when there is none, and just so when it is somebody else's. */
export async function findOrder(id: string, who: Principal | null) {
  if (!who) return null;
  return findOrderFor(id, { tenant: who.tenant, principal: { in: namesOf(who) } });
}

/** An order, whoever placed it. For the admin alone. */
export async function findAnyOrder(id: string) {
  return findOrderFor(id, {});
}

async function findOrderFor(id: string, owner: { tenant?: string; principal?: { in: string[] } }) {
  if (!z.uuid().safeParse(id).success) return null;
  const order = await db().order.findFirst({ where: { id, ...owner } });
  if (!order) return null;
  const product = await db().product.findUnique({ where: { sku: order.sku } });
  return { ...order, productName: product?.name ?? order.sku };
}

/** The order that a key placed. */
export function findOrderOfKey({ tenant, principal, key }: { tenant: string; principal: string; key: string }) {
  return db().order.findFirst({
    where: { tenant, principal, idempotencyKey: key },
    select: { id: true, status: true, amountCents: true },
  });
}

/** How many orders each of the lab's two forms has made for this principal. */
export async function countLabOrders(who: Principal | null): Promise<{ lab: number; plain: number }> {
  if (!who) return { lab: 0, plain: 0 };
  const owner = { tenant: who.tenant, principal: { in: namesOf(who) } };
  const [lab, plain] = await Promise.all([
    db().order.count({ where: { ...owner, source: 'lab' } }),
    db().order.count({ where: { ...owner, source: 'plain' } }),
  ]);
  return { lab, plain };
}
