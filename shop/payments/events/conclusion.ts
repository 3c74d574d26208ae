import type { Scope } from 'oncekit';
import type Stripe from 'stripe';
import { z } from 'zod';
import type { Client } from '../../db.ts';
import { idempotency } from '../../idempotency.ts';

/** A transaction of the inbox. */
export type Tx = Parameters<typeof idempotency.recordEvidence>[0];

/** Words of the provider, or its word that a step's call has succeeded, with its reference. */
type Evidence = Parameters<typeof idempotency.recordEvidence>[2];

/** The result of an event; the inbox keeps it. */
export type Applied =
  /** The key of the operation that is to do it has heard of it. */
  | { did: 'evidence'; operation: string; key: string; orderId?: string; refundId?: string }
  | { did: 'booked'; refundId: string; orderStatus: string }
  | { did: 'disputed'; orderId: string }
  /** An audit record waits for a person. */
  | { did: 'noted'; orderId: string }
  | { did: 'nothing'; why: string; orderId?: string };

export const NOT_OURS: Applied = { did: 'nothing', why: 'no order of this shop' };

/** Which operation an order or a refund comes from. Those of no operation have no key either. */
const OPERATIONS: Record<string, string> = {
  checkout: 'checkout',
  api: 'orders.create',
  'refund form': 'refund',
  'refund api': 'refunds.create',
  'refund unexpected': 'refund.unexpected',
};

interface Own {
  id: string;
  tenant: string;
  principal: string;
  source: string;
  idempotencyKey: string | null;
}

/** The operation that an order or a refund comes from; undefined for one that comes from none. */
export function operationOf(what: 'order' | 'refund', source: string): string | undefined {
  return OPERATIONS[what === 'refund' ? `refund ${source}` : source];
}

/**
 * Tells the operation that an order or a refund belongs to what the provider has said of it. Undefined when that operation
 * has ended, and this is nothing new; `contradicts` when it has ended otherwise, or by another payment or refund. What an
 * open one comes to is found out by the operation itself, which looks at the object that is named, or asks: an event may be
 * older than what is known, and money is booked in one place.
 */
export async function tell(
  tx: Tx,
  what: 'order' | 'refund',
  { id, tenant, principal, source, idempotencyKey: key }: Own,
  said: Evidence,
): Promise<Applied | 'contradicts' | undefined> {
  const operation = operationOf(what, source);
  if (!operation || !key) return undefined;
  const heard = await idempotency.recordEvidence(tx, { tenant, principal, operation, key }, said, 'stripe');
  if (heard === 'none') return undefined;
  // By its id, for a key may be a word that any client has chosen.
  return heard === 'contradicts' ? heard : { did: 'evidence', operation, key, [`${what}Id`]: id };
}

/**
 * Objects of the provider that this key knows, by their ids: each once, of what began with these words. For who ends it
 * without having asked.
 */
export async function heardOf(
  tx: Pick<Client, 'idempotencyEvent'>,
  { key, scope: { tenant, principal, operation } }: { key: string; scope: Scope },
  words: string,
): Promise<string[]> {
  const detail = { path: ['said'], string_starts_with: words };
  const where = { tenant, principal, operation, key, type: 'evidence', detail };
  const events = await tx.idempotencyEvent.findMany({ where, orderBy: { id: 'asc' } });
  return [...new Set(events.map((one) => String((one.detail as { said: string }).said).split(' ')[1] ?? ''))];
}

interface Note {
  action: string;
  tenant: string;
  principal: string;
  orderId: string;
}

/**
 * Writes down for a person, once, what the provider says of one of its objects. The caller holds the order's lock, so
 * nobody else does at the same time.
 *
 * @param by which of the data is the provider's name for it
 */
export async function noteOnce<Data extends Record<string, string | number | null>>(
  tx: Pick<Client, 'auditRecord'>,
  about: Note,
  by: keyof Data & string,
  data: Data,
): Promise<Applied> {
  const isNoted = { ...about, data: { path: [by as string], equals: String(data[by]) } };
  if (!(await tx.auditRecord.findFirst({ where: isNoted }))) await tx.auditRecord.create({ data: { ...about, data } });
  return { did: 'noted', orderId: about.orderId };
}

/** The event has overtaken the operation that it is about. It is tried again, and nothing of it is done until then. */
export class NotYetBooked extends Error {
  override readonly name = 'NotYetBooked';
  readonly code = 'the_order_is_being_paid';
}

/**
 * The order that a payment has paid; undefined when it paid none of this shop's.
 *
 * @param at when it happened, in seconds
 * @throws NotYetBooked while an order that was there by then is still being paid: it may be the one
 */
export async function orderOfPayment(
  tx: Tx,
  paymentIntent: string,
  at: number,
): Promise<{ id: string; tenant: string; principal: string; amountCents: number } | undefined> {
  // One statement, so one snapshot: asked for one after the other, an order could be paid just between, and be neither
  // being paid nor paid. A minute, because the provider's clock is not ours.
  const [found] = await tx.$queryRaw<
    { id: string | null; tenant: string; principal: string; amountCents: number; isEarly: boolean }[]
  >`
    SELECT o.id, o.tenant, o.principal, o.amount_cents AS "amountCents",
           CASE WHEN o.id IS NULL
                THEN EXISTS (SELECT FROM orders WHERE status = 'paying'
                                AND created_at <= to_timestamp(${at}::float8) + interval '1 min')
                ELSE false END AS "isEarly"
      FROM (SELECT 1) one LEFT JOIN orders o ON o.payment_intent = ${paymentIntent}`;
  if (found?.isEarly) throw new NotYetBooked(`No order is paid by ${paymentIntent}, but some are being paid.`);
  return found?.id ? { ...found, id: found.id } : undefined;
}

/** The refund of this shop's that the provider was asked for. It keeps our name for it, and says it again. */
export async function ownRefund(tx: Tx, { metadata }: Stripe.Refund, paymentIntent: string) {
  const { success: isId, data: id } = z.uuid().safeParse(metadata?.refund_id);
  // Of a payment that nobody expected, the order knows no id.
  const isOfPayment = { OR: [{ order: { paymentIntent } }, { source: 'unexpected' }] };
  return isId ? await tx.refund.findFirst({ where: { id, ...isOfPayment }, include: { order: true } }) : null;
}

/** The provider gives an object, or its id alone. */
export function idOf(object: string | { id: string } | null | undefined): string | undefined {
  return typeof object === 'string' ? object : object?.id;
}
