import { derivedId, type PhasesContext, type Refused } from 'oncekit';
import type { Client } from '../db.ts';
import { announce } from '../outbox.ts';
import { CHARGE_STEP, charge } from '../payments/charge.ts';
import { heardOf, noteOnce } from '../payments/events/conclusion.ts';
import { post } from '../payments/ledger.ts';
import { refused } from '../payments/stripe-errors.ts';
import { giveUp, type PlacedOrder } from './orders.ts';
import { takeStock } from './products.ts';
import { stageReceipt } from './receipts.ts';

type Tx = Pick<Client, 'cart' | 'order' | 'product' | 'auditRecord' | 'ledgerEntry' | '$queryRaw' | '$queryRawUnsafe'>;
type Steps = Pick<PhasesContext<unknown, Tx>, 'atomic' | 'foreign' | 'fail' | 'key' | 'scope'>;

/** Differences between the ways to buy. */
export interface Sale {
  source: Source;
  paymentMethod: string;
  /** Says what is bought, in the transaction that places the order: locks it, or refuses. */
  goods(tx: Tx): Promise<{ sku: string; quantity: number; cartId: string | null }>;
  deliverTo: Delivery;
}

type Source = 'checkout' | 'api';

interface Delivery {
  customerName?: string;
  email?: string;
  line1?: string;
  city?: string;
  postalCode?: string;
  country?: string;
}

/**
 * Sells once and charges once, wherever a process dies: order_created, charge_created, finished, as Rocket Rides does
 * it (https://brandur.org/idempotency-keys), with the charge between two transactions instead of inside one.
 * Goods are taken before the card is charged: nobody pays for what is sold out.
 */
export async function sell({ atomic, foreign, fail, key, scope }: Steps, sale: Sale): Promise<PlacedOrder> {
  const { tenant, principal } = scope;
  const id = derivedId({ scope, key }, 'order');

  const order = await atomic('order_created', async (tx) => {
    // A refusal commits what was written before it, so everything is checked before anything is written.
    const { sku, quantity, cartId } = await sale.goods(tx);
    // The phase's result holds the price of now: one that changes meanwhile is not charged.
    const product = await takeStock(tx, sku, quantity);
    if (!product) {
      const known = await tx.product.findUnique({ where: { sku } });
      if (!known) return fail('not_for_sale', { sku }, { status: 404, message: 'This is not for sale.' });
      return fail('out_of_stock', { sku }, { status: 409, message: `Sorry, ${known.name} has just sold out.` });
    }
    const bought = { sku, quantity, amountCents: product.priceCents * quantity };
    const { source, paymentMethod, deliverTo } = sale;
    const whose = { tenant, principal };
    await tx.order.create({
      data: {
        id,
        cartId,
        ...whose,
        ...bought,
        status: 'paying',
        source,
        idempotencyKey: key,
        paymentMethod,
        ...deliverTo,
      },
    });
    await tx.auditRecord.create({ data: { action: 'order.placed', ...whose, orderId: id, data: bought } });
    return bought;
  });

  const { amountCents } = order;
  const wanted = { orderId: id, amountCents, paymentMethod: sale.paymentMethod };
  const charged = await foreign(CHARGE_STEP, charge(wanted));
  // A send that is declined has ended already, by its judge; this one was found by a look-up.
  if ('declined' in charged) {
    const { refuse, data, status, message } = refused('card_declined', charged.declined);
    return fail(refuse, data, { status, message });
  }

  return atomic('finished', async (tx) => {
    const { paymentIntent } = charged;
    // Nothing leads out of `paying` but this operation's own key; if something did, money must not be booked over it.
    const paid = await tx.order.updateMany({
      where: { id, status: 'paying' },
      data: { status: 'paid', paymentIntent },
    });
    if (paid.count !== 1) throw new Error(`Order ${id} is charged (${paymentIntent}) but no longer being paid.`);
    await post(tx, { orderId: id, amountCents });
    const data = { amountCents, paymentIntent };
    await tx.auditRecord.create({ data: { action: 'order.paid', tenant, principal, orderId: id, data } });
    await stageReceipt(tx, 'receipt', id);
    await announce(tx, { type: 'order.paid', orderId: id, ...order }, { scope, key });
    return { id, ...order, status: 'paid' };
  });
}

/**
 * For `onRefused`, in the transaction that stores the refusal: the order of this key, if there is one, becomes
 * `payment_failed`, its goods go back, and its cart is free for another card under another key. A payment that the
 * provider has told of all the same (somebody has said "failed" who could not see it) is written down for a person.
 */
export async function undoSale(
  tx: Tx & Pick<Client, 'idempotencyEvent'>,
  source: Source,
  { key, scope, reason }: Refused<unknown>,
): Promise<void> {
  const { tenant, principal } = scope;
  const mine = { tenant, principal, source, idempotencyKey: key };
  const order = await tx.order.findFirst({ where: { ...mine, status: 'paying' } });
  if (!order || !(await giveUp(tx, order, 'paying', 'payment_failed'))) return;
  const about = { tenant, principal, orderId: order.id };
  await tx.auditRecord.create({ data: { action: 'order.payment_failed', ...about, data: { reason } } });
  for (const paymentIntent of await heardOf(tx, { key, scope }, 'payment_intent.succeeded ')) {
    const data = { paymentIntent, amountCents: order.amountCents, orderStatus: 'payment_failed' };
    await noteOnce(tx, { action: 'payment.unexpected', ...about }, 'paymentIntent', data);
  }
}
