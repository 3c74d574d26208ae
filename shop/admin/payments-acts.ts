import { z } from 'zod';
import { db } from '../db.ts';
import { lockOrder } from '../orders/orders.ts';
import { operationOf } from '../payments/events/conclusion.ts';
import { findUnexpectedMoney, noteSeen, type UnexpectedMoney } from '../payments/unexpected-money.ts';
import { unexpectedRefund } from '../payments/unexpected-refund.ts';
import { type AdminAccount, admin, kit } from './admin.ts';
import { actsOnce } from './once.ts';

const record = z.string().regex(/^\d{1,18}$/);
const schema = z.object({ act: z.literal('seen'), record, tenant: z.string().optional() });

/** Acts of an admin on money that nobody expected: with its own key in one transaction, so it is done once. */
export const paymentActs = actsOnce(
  kit
    .operation({ name: 'admin.payments', schema })
    .handler(async ({ input, tx, scope: { principal: actor }, afterCommit }) => {
      const tenant = input.tenant ?? null;
      const found = await findUnexpectedMoney(tenant, input.record, tx);
      if (!found || !(await lockOrder(tx, found.order.id, found))) return 'changed';
      const money = await findUnexpectedMoney(tenant, input.record, tx);
      if (!money || money.refund?.status === 'pending') return 'changed';
      await noteSeen(tx, money, actor);
      const { action, principal, order, data } = money;
      await admin({ tenant }, { tx, afterCommit }).record({
        ...{ type: 'payment_seen_to', actor, tenant: money.tenant, principal },
        ...{ operation: operationOf('order', order.source) ?? '', key: order.idempotencyKey ?? '' },
        detail: { what: action, cents: String(data.amountCents ?? '') },
      });
      return 'seen';
    }),
);

/** The outcome of asking for a refund, for the page to say. */
type Returned = 'refunded' | 'refused' | 'under_way' | 'changed' | 'stale' | 'unsure';

/** A key for the form that gives one back. Its refund runs under the names of the customer whose money it is. */
export async function refundKey({ tenant, principal }: UnexpectedMoney): Promise<string> {
  return (await unexpectedRefund.mintKey({ tenant, principal })) ?? '';
}

/** Gives a payment back that nobody expected: once for its record, however often and by whomever it is asked for. */
export async function refundUnexpected(form: FormData, { name: actor, tenant }: AdminAccount): Promise<Returned> {
  const asked = record.safeParse(form.get('record'));
  if (!asked.success) return 'changed';
  // Whoever may see it may give it back: of another tenant there is none.
  const whose = { id: BigInt(asked.data), action: 'payment.unexpected', ...(tenant === null ? {} : { tenant }) };
  const noted = await db().auditRecord.findFirst({ where: whose });
  if (!noted?.orderId) return 'changed';
  const outcome = await unexpectedRefund.execute({
    key: String(form.get('idempotency_key') ?? ''),
    scope: { tenant: noted.tenant, principal: noted.principal },
    payload: { record: asked.data, order_id: noted.orderId, actor },
    acceptKeys: 'minted',
  });
  if (outcome.ok) return 'refunded';
  if (outcome.code === 'failed') return outcome.reason === 'seen_to' ? 'changed' : 'refused';
  if (outcome.code === 'outcome_unknown' || outcome.code === 'in_flight') return 'under_way';
  if (outcome.code === 'payload_mismatch') return 'changed';
  return outcome.code.startsWith('key_') ? 'stale' : 'unsure';
}
