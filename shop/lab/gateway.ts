import { z } from 'zod';
import { LAB_ORDER } from './charge.ts';

const ledger = z.object({
  charges: z.array(
    z.object({
      metadata: z.record(z.string(), z.string()),
      idempotency_key: z.string().nullable(),
      created: z.number(),
    }),
  ),
});

const requests = z.array(z.object({ at: z.string(), idempotency_key: z.string().nullable(), replayed: z.boolean() }));

const TIMEOUT_MS = 1000;

/** A charge in the gateway's ledger. */
export interface LabCharge {
  orderId: string;
  /** ISO 8601. */
  at: string;
}

/** Entries of the local gateway's ledger for these orders; null where there is no gateway that can be asked. */
export async function chargesOf(orderIds: readonly string[]): Promise<LabCharge[] | null> {
  const base = process.env.STRIPE_API_BASE;
  if (!base) return null;
  if (orderIds.length === 0) return [];
  try {
    const [{ charges }, sent] = await Promise.all([
      ask(`${base}/_ledger`, ledger),
      ask(`${base}/_requests`, requests).catch(() => []),
    ]);
    const wanted = new Set(orderIds);
    return charges.flatMap(({ metadata, idempotency_key: key, created }) => {
      const orderId = metadata[LAB_ORDER] ?? metadata.order_id;
      if (!orderId || !wanted.has(orderId)) return [];
      // The ledger counts in seconds. The request that made the charge is known to the millisecond, for a while.
      const made = sent.find((each) => key !== null && each.idempotency_key === key && !each.replayed);
      return { orderId, at: made?.at ?? new Date(created * 1000).toISOString() };
    });
  } catch {
    return null;
  }
}

async function ask<T>(url: string, schema: z.ZodType<T>): Promise<T> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS), cache: 'no-store' });
  return schema.parse(await answer.json());
}
