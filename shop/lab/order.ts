import { randomUUID } from 'node:crypto';
import type { Principal } from 'oncekit';
import { z } from 'zod';
import { type Client, db } from '../db.ts';
import { idempotency } from '../idempotency.ts';
import type { PlacedOrder } from '../orders/orders.ts';
import { takeStock } from '../orders/products.ts';
import { chargeLabOrder } from './charge.ts';
import { atCrashPoint } from './crash.ts';

const schema = z.object({
  sku: z.string().min(1, 'Choose a product.').max(40),
  quantity: z.coerce
    .number('Enter a number.')
    .int('Enter a whole number.')
    .min(1, 'At least one.')
    .max(10, 'At most ten.'),
});

type Goods = z.output<typeof schema>;
type Tx = Pick<Client, 'product' | 'order'>;

/** The lab's order with the kit: one transaction, always. */
export const labOrder = idempotency
  .operation({ name: 'lab.order', schema })
  .handler(async ({ input, tx, key, scope, capture, fail }): Promise<PlacedOrder> => {
    const id = await capture('order_id', randomUUID);
    const { tenant, principal } = scope;
    const order = await sell(tx, input, { id, tenant, principal, source: 'lab', idempotencyKey: key });
    return order ?? fail('out_of_stock', { sku: input.sku }, { status: 409, message: soldOut });
  });

export type PlainResult =
  | { ok: true; data: PlacedOrder }
  | { ok: false; message: string; fieldErrors?: Record<string, string[]>; values?: Record<string, string> };

/**
 * The same without the kit, as it is usually written: every request that arrives makes an order and charges it.
 *
 * @param more `run`: the lab's, which may have asked for a crash; `extraCents`: of what is no product
 */
export async function placePlainOrder(
  who: Principal | null,
  form: FormData,
  { run = '', extraCents = 0 }: { run?: string | undefined; extraCents?: number } = {},
): Promise<PlainResult> {
  if (!who) return { ok: false, message: 'Please reload the page, then send it again.' };
  const entered = { sku: String(form.get('sku') ?? ''), quantity: String(form.get('quantity') ?? '') };
  const parsed = schema.safeParse(entered);
  if (!parsed.success) {
    const { fieldErrors } = z.flattenError(parsed.error);
    return { ok: false, message: 'Some fields need your attention.', fieldErrors, values: entered };
  }
  const { tenant, principal } = who;
  const row = { id: randomUUID(), tenant, principal, source: 'plain', idempotencyKey: null } as const;
  const order = await db().$transaction(async (tx) => {
    const sold = await sell(tx, { ...parsed.data, extraCents }, row);
    await atCrashPoint('without', { run }, 'before-commit');
    return sold;
  });
  await atCrashPoint('without', { run }, 'after-commit');
  if (!order) return { ok: false, message: soldOut };
  await chargeLabOrder(order);
  await atCrashPoint('without', { run }, 'after-answer');
  return { ok: true, data: order };
}

const soldOut = 'Sorry, that has just sold out.';

interface OrderRow {
  id: string;
  tenant: string;
  principal: string;
  source: 'lab' | 'plain';
  idempotencyKey: string | null;
}

/** Takes the goods out of stock and writes the order; null, and nothing written, when there are not enough. */
async function sell(
  tx: Tx,
  { sku, quantity, extraCents = 0 }: Goods & { extraCents?: number },
  row: OrderRow,
): Promise<PlacedOrder | null> {
  if (!(await takeStock(tx, sku, quantity))) return null;
  const { priceCents } = await tx.product.findUniqueOrThrow({ where: { sku } });
  const amountCents = priceCents * quantity + extraCents;
  const order = { sku, quantity, amountCents, status: 'pending' };
  await tx.order.create({ data: { ...row, ...order, paymentMethod: 'pm_card_visa' } });
  return { id: row.id, ...order };
}
