import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { db } from '../db.ts';
import { namesOf } from '../session/adoption.ts';
import type { Session } from '../session/session.ts';
import { principalOf } from '../session/visitor.ts';

const buying = z.object({ sku: z.string().min(1).max(40), quantity: z.coerce.number().int().min(1).max(10) });

/**
 * Puts goods into a cart of their own and returns its id; null when there are no such goods. Sent twice it makes a
 * second cart, which harms nobody: only a checkout sells.
 */
export async function createCart(shopper: Session, form: unknown): Promise<string | null> {
  const { success, data } = buying.safeParse(form);
  if (!success || !(await db().product.findUnique({ where: { sku: data.sku } }))) return null;
  const { shopperId, account } = shopper;
  const cart = await db().cart.create({ data: { id: randomUUID(), shopper: shopperId, account, ...data } });
  return cart.id;
}

/** A cart with its goods and, once it was ordered, its order. */
export interface CartView {
  id: string;
  sku: string;
  name: string;
  quantity: number;
  priceCents: number;
  amountCents: number;
  order: CartOrder | null;
  /** The order that these goods were before, and whose payment a person has ended without the provider's word. */
  givenUp: string | null;
}

/** The order that a cart has become, and what was entered for it: by the names of the checkout's fields. */
export interface CartOrder {
  id: string;
  status: string;
  entered: Record<string, string>;
}

/** The shopper's cart with this id, or the newest one without an id. */
export async function findCart(shopper: Session, id: string | undefined): Promise<CartView | null> {
  if (id !== undefined && !z.uuid().safeParse(id).success) return null;
  const cart = await db().cart.findFirst({
    where: { ...ownerOf(shopper), ...(id ? { id } : {}) },
    orderBy: { createdAt: 'desc' },
    include: { order: { select: ORDERED } },
  });
  const product = cart && (await db().product.findUnique({ where: { sku: cart.sku } }));
  if (!product) return null;
  const { name, priceCents } = product;
  const { sku, quantity, order } = cart;
  return {
    id: cart.id,
    sku,
    name,
    quantity,
    priceCents,
    amountCents: priceCents * quantity,
    order: order && viewOf(order),
    givenUp: order ? null : await givenUpOf(shopper, cart),
  };
}

/** An order that was given up has no cart: it is known by its goods, and by having been placed behind the cart. */
async function givenUpOf(
  shopper: Session,
  { sku, quantity, createdAt }: { sku: string; quantity: number; createdAt: Date },
) {
  const who = principalOf(shopper);
  const placed = { tenant: who.tenant, principal: { in: await namesOf(who) }, sku, quantity, source: 'checkout' };
  const orders = await db().order.findMany({
    where: { ...placed, status: 'payment_failed', createdAt: { gte: createdAt } },
    select: { id: true },
    orderBy: { createdAt: 'desc' },
    take: 20,
  });
  const byPerson = { action: 'order.payment_failed', data: { path: ['reason'], equals: 'marked_failed' } };
  const given = await db().auditRecord.findFirst({
    where: { orderId: { in: orders.map(({ id }) => id) }, ...byPerson },
    select: { orderId: true },
    orderBy: { id: 'desc' },
  });
  return given?.orderId ?? null;
}

const ORDERED = {
  ...{ id: true, status: true, paymentMethod: true },
  ...{ customerName: true, email: true, line1: true, city: true, postalCode: true, country: true },
} as const;

function viewOf({
  id,
  status,
  ...sent
}: Record<keyof typeof ORDERED, string | null> & { id: string; status: string }): CartOrder {
  const { customerName: name, postalCode: postal_code, paymentMethod: payment_method, ...rest } = sent;
  const entered = Object.entries({ name, postal_code, payment_method, ...rest });
  return { id, status, entered: Object.fromEntries(entered.map(([field, value]) => [field, value ?? ''])) };
}

/** An account has the carts of all its sessions; an anonymous shopper has the session alone. */
function ownerOf({ shopperId, account }: Session): { account: string } | { shopper: string } {
  return account ? { account } : { shopper: shopperId };
}
