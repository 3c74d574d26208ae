import { derivedId, type PhasesContext, type Refused } from 'oncekit';
import type { Client } from '../db.ts';
import { dollars } from '../orders/money.ts';
import { lockOrder, refundable } from '../orders/orders.ts';
import { heardOf, noteOnce } from './events/conclusion.ts';
import { bookRefund, type RefundSource, reserveRefund, settleRefund } from './refund-booking.ts';
import { giveBack, RETURN_STEP } from './refund-call.ts';

type Tx = Pick<Client, 'order' | 'refund' | 'auditRecord' | 'ledgerEntry' | '$queryRaw' | '$queryRawUnsafe'>;
type Steps = Pick<PhasesContext<unknown, Tx>, 'atomic' | 'foreign' | 'fail' | 'key' | 'scope'>;

/** The result of a refund. */
export interface RefundMade {
  id: string;
  orderId: string;
  amountCents: number;
  status: string;
  orderStatus: string;
}

const TOO_EARLY = { status: 409, message: 'Whether this order is paid is not known yet. Try again once it is.' };
const TOO_LATE = { status: 409, message: 'The payment provider no longer gives this money back.' };

/**
 * The reverse of a sale, with the same guarantees: never more is given back than was paid, whoever asks at the same
 * time. refund_reserved, refund_created, refunded.
 */
export async function giveRefund(
  { atomic, foreign, fail, key, scope }: Steps,
  { source, orderId, amountCents }: { source: RefundSource; orderId: string; amountCents: number },
): Promise<RefundMade> {
  const { tenant, principal } = scope;
  const id = derivedId({ scope, key }, 'refund');

  const payment = await atomic('refund_reserved', async (tx) => {
    const order = await lockOrder(tx, orderId, scope);
    if (!order) {
      return fail('order_not_found', undefined, { status: 404, message: 'This order is not yours, or it is gone.' });
    }
    const { paymentIntent, amountCents: paidCents } = order;
    // Its checkout runs, or is unknown: the card may have been charged.
    if (order.status === 'paying') return fail('payment_unknown', undefined, TOO_EARLY);
    if (!paymentIntent) {
      return fail('not_paid', undefined, { status: 409, message: 'There is no payment to give back.' });
    }
    // Behind the lock: the other refund is either committed, and counts, or waits for us to be.
    const left = refundable(order, await tx.refund.findMany({ where: { orderId } }));
    if (amountCents > left) {
      const message = left > 0 ? `At most ${dollars(left)} can be given back.` : 'All of it is given back already.';
      return fail('exceeds_payment', { refundable_cents: left }, { status: 422, message });
    }
    await reserveRefund(tx, { id, orderId, tenant, principal, amountCents, source, key });
    return { paymentIntent, paidCents };
  });

  const returned = await foreign(RETURN_STEP, giveBack({ refundId: id, orderId, amountCents, ...payment }));
  if ('refused' in returned) return fail('refund_refused', { code: returned.refused }, TOO_LATE);

  return atomic('refunded', async (tx) => {
    await lockOrder(tx, orderId, scope);
    const { providerRefund } = returned;
    await settleRefund(tx, id, providerRefund);
    const { paidCents } = payment;
    const given = { refundId: id, orderId, tenant, principal, amountCents, paidCents, providerRefund };
    const orderStatus = await bookRefund(tx, given, { scope, key });
    return { id, orderId, amountCents, status: 'succeeded', orderStatus };
  });
}

/**
 * For `onRefused`: the refund of this key, if there is one, becomes `failed`, which frees what it had reserved. Where the
 * provider has told of it, and it was not the provider who refused it since, that is written down for a person.
 */
export async function undoRefund(
  tx: Tx & Pick<Client, 'idempotencyEvent'>,
  source: RefundSource,
  { key, scope, reason }: Refused<unknown>,
): Promise<void> {
  const { tenant, principal } = scope;
  const mine = { tenant, principal, source, idempotencyKey: key };
  const refund = await tx.refund.findFirst({ where: { ...mine, status: 'pending' } });
  if (!refund) return;
  // As whoever hears of it from the provider: of two of them, the later one finds what the earlier has noted.
  await lockOrder(tx, refund.orderId, scope);
  const failed = { status: 'failed', settledAt: new Date() };
  await tx.refund.updateMany({ where: { id: refund.id, status: 'pending' }, data: failed });
  const { id: refundId, orderId, amountCents } = refund;
  const about = { tenant, principal, orderId };
  await tx.auditRecord.create({ data: { action: 'refund.failed', ...about, data: { refundId, reason } } });
  if (reason === 'refund_refused') return;
  for (const providerRefund of await heardOf(tx, { key, scope }, 'refund.')) {
    const data = { refundId, providerRefund, amountCents };
    await noteOnce(tx, { action: 'refund.unexpected', ...about }, 'providerRefund', data);
  }
}
