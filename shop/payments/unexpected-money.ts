import type { Client } from '../db.ts';
import { db } from '../db.ts';

/** Money that nobody expected, and that nobody has seen to. */
export interface UnexpectedMoney {
  /** Of its audit record. */
  id: string;
  action: string;
  at: Date;
  tenant: string;
  principal: string;
  data: { amountCents?: number; currency?: string; reason?: string | null } & Record<string, unknown>;
  order: {
    id: string;
    status: string;
    source: string;
    idempotencyKey: string | null;
    paymentIntent: string | null;
    customerName: string | null;
    email: string | null;
  };
  /** Its refund, where one was asked for on the admin's pages: `pending`, `failed`, and its key. */
  refund: { status: string; idempotencyKey: string } | null;
}

// The list of actions is that of the index `audit_records_money_idx`.
const UNSEEN = `
  FROM audit_records r JOIN orders o ON o.id = r.order_id
 WHERE r.action IN ('payment.unexpected', 'refund.unexpected', 'refund.reversed', 'order.disputed')
   AND ($1::text IS NULL OR r.tenant = $1)
   AND NOT EXISTS (SELECT FROM audit_records seen
                    WHERE seen.order_id = r.order_id AND seen.action = r.action || '.seen'
                      AND seen.data->>'record' = r.id::text)`;

const LIST = `
SELECT r.id::text, r.action, r.at, r.tenant, r.principal, r.data,
       jsonb_build_object('id', o.id, 'status', o.status, 'source', o.source, 'idempotencyKey', o.idempotency_key,
         'paymentIntent', o.payment_intent, 'customerName', o.customer_name, 'email', o.email) AS "order",
       (SELECT jsonb_build_object('status', f.status, 'idempotencyKey', f.idempotency_key)
          FROM audit_records asked JOIN refunds f ON f.id = (asked.data->>'refundId')::uuid
         WHERE asked.order_id = r.order_id AND asked.action = 'refund.reserved' AND asked.data->>'record' = r.id::text
         ORDER BY asked.id DESC LIMIT 1) AS refund
${UNSEEN} AND ($2::bigint IS NULL OR r.id = $2)
 ORDER BY r.id DESC LIMIT $3 OFFSET $4`;

const COUNT = `SELECT count(*)::int AS count ${UNSEEN}`;

/** How many there are, of one tenant or of all (null). */
export async function countUnexpectedMoney(tenant: string | null): Promise<number> {
  const [row] = await db().$queryRawUnsafe<[{ count: number }]>(COUNT, tenant);
  return row.count;
}

/** A page of them, newest first, of one tenant or of all (null). */
export async function listUnexpectedMoney(
  tenant: string | null,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ rows: UnexpectedMoney[]; hasMore: boolean }> {
  const rows = await list(db(), tenant, null, limit + 1, offset);
  return { rows: rows.slice(0, limit), hasMore: rows.length > limit };
}

/** One that nobody has seen to, by its record; undefined where it is another tenant's, or was seen to. */
export async function findUnexpectedMoney(
  tenant: string | null,
  record: string,
  client: Pick<Client, '$queryRawUnsafe'> = db(),
): Promise<UnexpectedMoney | undefined> {
  const [row] = await list(client, tenant, record, 1, 0);
  return row;
}

function list(
  client: Pick<Client, '$queryRawUnsafe'>,
  tenant: string | null,
  record: string | null,
  limit: number,
  offset: number,
): Promise<UnexpectedMoney[]> {
  return client.$queryRawUnsafe(LIST, tenant, record, limit, offset);
}

/**
 * Takes one off the list: somebody has seen to it. The caller holds the order's lock and has found it behind that, so of two
 * who see to it at once one finds nothing.
 */
export async function noteSeen(
  tx: Pick<Client, 'auditRecord'>,
  { id: record, action, tenant, principal, order }: UnexpectedMoney,
  by: string,
  data: Record<string, string> = {},
): Promise<void> {
  const about = { action: `${action}.seen`, tenant, principal, orderId: order.id };
  await tx.auditRecord.create({ data: { ...about, data: { record, by, ...data } } });
}

/** Tells whether it is a payment that can be given back from here: one in the shop's currency, and not what the order is paid by. */
export function isReturnable({ action, data, order }: UnexpectedMoney, currency: string): boolean {
  return (
    action === 'payment.unexpected' &&
    order.status !== 'paying' &&
    data.paymentIntent !== order.paymentIntent &&
    (data.currency ?? currency) === currency
  );
}
