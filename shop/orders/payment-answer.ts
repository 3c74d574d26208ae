import { createAdmin } from 'oncekit/admin';
import { type CallAnswer, callAnswers, type Effect, leavesDoubt, times } from '../admin/call-answer.ts';
import { callWords } from '../admin/linked.ts';
import { db } from '../db.ts';
import { CHARGE_STEP } from '../payments/charge.ts';
import { operationOf } from '../payments/events/conclusion.ts';
import { payments } from '../payments/payments.ts';
import { dollars } from './money.ts';

interface Order {
  id: string;
  tenant: string;
  principal: string;
  source: string;
  status: string;
  idempotencyKey: string | null;
  paymentIntent: string | null;
}

/** How the payment of an order stands. */
export interface Payment {
  /** What is known of its charge. Undefined where nothing was sent. */
  answer: CallAnswer | undefined;
  /** It is being paid, and nobody can say yet whether it was charged. */
  isUnknown: boolean;
  /** The provider honours keys, or can be asked: whoever sends it again, it is charged once. */
  isAtMostOnce: boolean;
  /**
   * Nobody can say what was charged for it: its payment has ended without the provider's word, or the provider has told of one
   * that nobody expected.
   */
  isInDoubt: boolean;
  /** What was charged and expected by nobody has gone back, all of it. */
  isReturned: boolean;
  /** The provider's names of refunds that were booked and have failed since: that money has not come back. */
  failedRefunds: readonly string[];
}

/** Whoever says something about a charge, as its customer is to know them: never by name. */
const nameOf = (actor: string) => (PROVIDER.has(actor) ? 'our payment provider' : 'our staff');
/** The sender of webhooks, and the executor that an answer has reached late. */
const PROVIDER = new Set(['stripe', 'executor']);

/**
 * Tells how the payment of an order stands, for its customer: counted from the receipt of its charge, from what the provider has
 * said of it, and from payments that nobody expected. Once the key is gone, from the books.
 */
export async function paymentOf(order: Order): Promise<Payment> {
  const { tenant, principal, status, idempotencyKey: key, paymentIntent } = order;
  const { keyTtlMs, canLookUp } = payments().settings;
  const operation = operationOf('order', order.source);
  const [detail, records] = await Promise.all([
    operation && key ? createAdmin({ prisma: db() }).findKey({ tenant, principal, operation, key }) : null,
    db().auditRecord.findMany({
      where: { orderId: order.id, action: { in: ACTIONS } },
      orderBy: { id: 'asc' },
    }),
  ]);
  const failedRefunds = records.filter(({ action }) => action === REVERSED).flatMap((one) => refundOf(one) ?? []);
  const unexpected = records
    .filter(({ action }) => action === 'payment.unexpected')
    .map(({ id, at, data }) => {
      const { paymentIntent: reference, amountCents } = data as { paymentIntent: string; amountCents: number };
      const seen = records.find((one) => (one.data as { record?: string }).record === String(id));
      const back = refundOf(seen);
      const reversed = records.find((one) => one.action === REVERSED && back && refundOf(one) === back);
      const known = [{ words: 'heard of, and expected by nobody', at }];
      if (seen && back && !reversed) known.push({ words: `given back (${back})`, at: seen.at });
      if (reversed) known.push({ words: 'given back, which has failed since', at: reversed.at });
      return { reference, amount: dollars(amountCents), known, isReturned: back !== undefined && !reversed };
    });
  const options = { verbs: callWords, besides: { [CHARGE_STEP]: unexpected }, nameOf };
  const answer = detail
    ? callAnswers(detail, options).find(({ step }) => step === CHARGE_STEP)
    : bookedAnswer(
        paymentIntent,
        unexpected,
        records.find(({ action }) => action === 'order.paid'),
      );
  const isGivenUp = records.some(
    ({ action, data }) => action === GIVEN_UP && (data as { reason?: string }).reason === 'marked_failed',
  );
  const isUnclear = status !== 'paying' && answer !== undefined && leavesDoubt(answer);
  return {
    answer,
    isUnknown: status === 'paying' && detail?.state === 'unknown',
    isAtMostOnce: keyTtlMs > 0 || canLookUp,
    isInDoubt: isUnclear || isGivenUp || unexpected.length > 0,
    isReturned: unexpected.length > 0 && unexpected.every(({ isReturned }) => isReturned),
    failedRefunds,
  };
}

const GIVEN_UP = 'order.payment_failed';
const REVERSED = 'refund.reversed';
const ACTIONS = ['order.paid', GIVEN_UP, 'payment.unexpected', 'payment.unexpected.seen', REVERSED];

const refundOf = (record: { data: unknown } | undefined) =>
  (record?.data as { providerRefund?: string } | undefined)?.providerRefund;

function bookedAnswer(
  paymentIntent: string | null,
  unexpected: readonly Effect[],
  paid: { at: Date; data: unknown } | undefined,
): CallAnswer | undefined {
  if (paymentIntent === null && unexpected.length === 0) return undefined;
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
