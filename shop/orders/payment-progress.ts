import { db } from '../db.ts';
import { operationOf } from '../payments/events/conclusion.ts';
import { payments } from '../payments/payments.ts';

type Paying = Record<'tenant' | 'principal' | 'source' | 'status', string> & { idempotencyKey: string | null };

/** Tells how the payment of an order goes, by the key that makes it. */
export async function paymentProgress(order: Paying): Promise<{ isUnknown: boolean; isAtMostOnce: boolean }> {
  const { keyTtlMs, canLookUp } = payments().settings;
  const { tenant, principal, source, status, idempotencyKey: key } = order;
  const operation = operationOf('order', source);
  const where = { tenant, principal, operation, key: key ?? '', state: 'unknown' };
  const isUnknown = status === 'paying' && operation && (await db().idempotencyKey.count({ where })) > 0;
  return { isUnknown: !!isUnknown, isAtMostOnce: keyTtlMs > 0 || canLookUp };
}
