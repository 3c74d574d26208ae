import type { Scope } from 'oncekit';
import { z } from 'zod';
import { db } from '../db.ts';
import { operations } from '../operations.ts';
import { dollars } from '../orders/money.ts';
import { findOrderOfKey, sourceOf } from '../orders/orders.ts';
import { operationOf } from '../payments/events/conclusion.ts';

/** A row of the app's own that a key has made, as the page of the key shows it. */
export interface LinkedRow {
  /** Its kind, such as `Order`. */
  name: string;
  text: string;
  /** Its page. */
  href?: string;
  /** The money that it is about. */
  amount?: string;
  /** Whose it is. */
  customer?: string;
}

/** What the foreign calls of the shop do, by their steps. */
export const callWords: Readonly<Record<string, string>> = { charge_created: 'charged', refund_created: 'given back' };

/** What an event is about, by its aggregate (`order:<id>`): the order, and the keys of it and of its refunds. */
export function linkedToEvent({ aggregate }: { aggregate: string }): LinkedRow[] {
  const [, id] = aggregate.match(/^order:(.+)$/) ?? [];
  if (!id) return [];
  return [
    { name: 'Order', text: id, href: `/orders/${encodeURIComponent(id)}` },
    { name: 'Keys', text: 'those of the order and its refunds', href: `/admin/keys?q=${encodeURIComponent(id)}` },
  ];
}

/** The rows that a received event is about, by what came of it, or by its payload while it waits: orders, and their keys. */
export async function linkedToReceived(event: { source: string; eventId: string }): Promise<LinkedRow[]> {
  // The shop's own event that it has sent to itself.
  const own = event.source === 'shop' && (await db().receivedEvent.findUnique({ where: { id: event.eventId } }));
  if (own) return linkedToEvent(own);
  const found = await db().inboxEvent.findUnique({ where: { source_eventId: event } });
  const said = [...(found?.result ?? found?.payload ?? '').matchAll(/"([^"\\]+)"/g)].map(([, text = '']) => text);
  const ids = said.filter((text) => z.uuid().safeParse(text).success);
  const named = (more: object) => ({ OR: [{ id: { in: ids } }, more] });
  const isRefund = named({ providerRefund: { in: said } });
  const orders = await db().order.findMany({
    where: { OR: [named({ paymentIntent: { in: said } }), { refunds: { some: isRefund } }] },
    include: { refunds: { where: isRefund } },
    take: 5,
  });
  return orders.flatMap((order) => [
    row('Order', order, order),
    ...keyRow(order, operationOf('order', order.source)),
    ...order.refunds.flatMap((refund) => keyRow(refund, operationOf('refund', refund.source))),
  ]);
}

type OfKey = { tenant: string; principal: string; idempotencyKey: string | null };

/** The key that has made a row; none for a row of no operation. */
function keyRow({ tenant, principal, idempotencyKey: key }: OfKey, operation: string | undefined): LinkedRow[] {
  if (!operation || !key) return [];
  const at = new URLSearchParams({ tenant, principal, operation, key });
  return [{ name: `Key of ${operation}`, text: key, href: `/admin/keys/detail?${at}` }];
}

/** The provider's events that are about what a key has made, newest first. Reads all events. */
export async function receivedFor(id: Scope & { key: string }): Promise<LinkedRow[]> {
  const [order, refund] = await Promise.all([findOrderOfKey(id), refundOf(id)]);
  const names = [order?.id, refund?.id].filter(Boolean);
  if (names.length === 0) return [];
  const rows = await db().$queryRaw<{ source: string; event: string; state: string }[]>`
    SELECT source, event_id AS event, state FROM inbox_events
     WHERE source = 'stripe' AND EXISTS (
       SELECT FROM unnest(${names}::text[]) AS name WHERE strpos(coalesce(result, payload), name) > 0)
     ORDER BY received_at DESC LIMIT 10`;
  return rows.map(({ source, event, state }) => {
    const at = new URLSearchParams({ box: 'inbox', source, event });
    return { name: 'Received', text: `${event} of ${source} (${state})`, href: `/admin/messages/detail?${at}` };
  });
}

/** Where the refunds of an operation come from. */
const SOURCES: Record<string, string> = { refund: 'form', 'refunds.create': 'api', 'refund.unexpected': 'unexpected' };

/** What of the shop's own `findKeys` finds keys by, as the list of keys says it. */
export const foundBesides = 'the id of an order or a refund, an e-mail address, or what Stripe calls its payment';

type Found = Record<'tenant' | 'principal' | 'source' | 'key', string> & { kind: 'order' | 'refund' };

/**
 * The keys that have made the shop's rows in which a text stands, the newest first and a hundred at most: orders, their refunds
 * and what their customers are called. Reads all of them. For the admin alone.
 *
 * @param tenant whose rows are looked at; null for all
 */
export async function findKeys(text: string, tenant: string | null = null): Promise<(Scope & { key: string })[]> {
  if (text.length < 3) return [];
  const rows = await db().$queryRaw<Found[]>`
    SELECT * FROM (
      SELECT 'order' AS kind, tenant, principal, source, idempotency_key AS key, created_at FROM orders
       WHERE strpos(lower(concat_ws(' ', id, email, payment_intent)), lower(${text})) > 0
      UNION ALL
      SELECT 'refund', r.tenant, r.principal, r.source, r.idempotency_key, r.created_at
        FROM refunds r JOIN orders o ON o.id = r.order_id
       WHERE strpos(lower(concat_ws(' ', r.id, r.provider_refund, o.id, o.email, o.payment_intent)), lower(${text})) > 0
    ) AS made WHERE key IS NOT NULL AND (${tenant}::text IS NULL OR tenant = ${tenant}) ORDER BY created_at DESC LIMIT 100`;
  const names = operations.map(({ name }) => name);
  const of = { order: sourceOf, refund: (operation: string) => SOURCES[operation] };
  return rows.flatMap(({ kind, tenant, principal, source, key }) =>
    names.filter((name) => of[kind](name) === source).map((operation) => ({ tenant, principal, operation, key })),
  );
}

/** The shop's rows that a key has made. For the admin alone. */
export async function linkedRows(id: Scope & { key: string }): Promise<LinkedRow[]> {
  const [order, refund] = await Promise.all([findOrderOfKey(id), refundOf(id)]);
  return [...(order ? [row('Order', order, order)] : []), ...(refund ? [row('Refund', refund, refund.order)] : [])];
}

type Made = { id: string; status: string; amountCents: number };
type OfOrder = { id: string; customerName: string | null; email: string | null };

/** A refund stands on the page of its order. */
function row(
  name: string,
  { id, status, amountCents }: Made,
  { id: orderId, customerName, email }: OfOrder,
): LinkedRow {
  const amount = dollars(amountCents);
  const customer = [customerName, email && (customerName ? `(${email})` : email)].filter(Boolean).join(' ');
  const text = `${id} (${status.replaceAll('_', ' ')}, ${amount})`;
  return { name, text, href: `/orders/${orderId}`, amount, ...(customer && { customer }) };
}

/** One key under two operations is two intents: each finds its own refund. */
async function refundOf({ tenant, principal, operation, key }: Scope & { key: string }) {
  const source = SOURCES[operation];
  if (!source) return null;
  return db().refund.findFirst({
    where: { tenant, principal, source, idempotencyKey: key },
    select: {
      id: true,
      status: true,
      amountCents: true,
      order: { select: { id: true, customerName: true, email: true } },
    },
  });
}
