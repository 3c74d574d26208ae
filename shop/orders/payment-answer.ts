import { createAdmin } from 'oncekit/admin';
import { type CallAnswer, callAnswers, type Effect, times } from '../admin/call-answer.ts';
import { callWords } from '../admin/linked.ts';
import { db } from '../db.ts';
import { CHARGE_STEP } from '../payments/charge.ts';
import { operationOf } from '../payments/events/conclusion.ts';
import { dollars } from './money.ts';

interface Order {
  id: string;
  tenant: string;
  principal: string;
  source: string;
  idempotencyKey: string | null;
  paymentIntent: string | null;
}

/**
 * What is known of the money of an order: counted from the receipt of its charge, from what the provider has said of it, and from
 * payments that nobody expected. Once the key is gone, from the books. Undefined where nothing was sent.
 */
export async function paymentAnswer(order: Order): Promise<CallAnswer | undefined> {
  const { tenant, principal, idempotencyKey: key, paymentIntent } = order;
  const operation = operationOf('order', order.source);
  const [detail, records] = await Promise.all([
    operation && key ? createAdmin({ prisma: db() }).findKey({ tenant, principal, operation, key }) : null,
    db().auditRecord.findMany({
      where: { orderId: order.id, action: { in: ['order.paid', 'payment.unexpected', 'payment.unexpected.seen'] } },
      orderBy: { id: 'asc' },
    }),
  ]);
  const unexpected = records
    .filter(({ action }) => action === 'payment.unexpected')
    .map(({ id, at, data }) => {
      const { paymentIntent: reference, amountCents } = data as { paymentIntent: string; amountCents: number };
      const seen = records.find((one) => (one.data as { record?: string }).record === String(id));
      const back = (seen?.data as { providerRefund?: string } | undefined)?.providerRefund;
      const known = [{ words: 'heard of, and expected by nobody', at }];
      if (seen && back) known.push({ words: `given back (${back})`, at: seen.at });
      return { reference, amount: dollars(amountCents), known };
    });
  if (detail) {
    const options = { verbs: callWords, besides: { [CHARGE_STEP]: unexpected }, isAnonymous: true };
    return callAnswers(detail, options).find(({ step }) => step === CHARGE_STEP);
  }
  if (paymentIntent === null && unexpected.length === 0) return undefined;
  const paid = records.find(({ action }) => action === 'order.paid');
  const { amountCents } = (paid?.data ?? {}) as { amountCents?: number };
  const booked: Effect = {
    reference: paymentIntent,
    amount: amountCents === undefined ? null : dollars(amountCents),
    known: [{ words: 'booked', at: paid?.at ?? null }],
  };
  const others = unexpected.filter(({ reference }) => reference !== paymentIntent);
  const effects = paymentIntent === null ? others : [booked, ...others];
  const tone = effects.length > 1 || paymentIntent === null ? 'bad' : 'good';
  return { step: CHARGE_STEP, tone, title: `Charged ${times(effects.length)}`, since: null, effects, notes: [] };
}
