import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { isOfOrder } from '../orders/orders.ts';
import type { address, order } from './schemas.ts';

/** An order, as the API shows it. */
export type OrderView = z.output<typeof order>;

interface Known {
  id: string;
  sku: string;
  quantity: number;
  amountCents: number;
  status: string;
  line1?: string | null;
  city?: string | null;
  postalCode?: string | null;
  country?: string | null;
  refunds?: readonly { amountCents: number; status: string; source: string }[];
}

/**
 * The representation of an order. The same one for the same facts: that of an order just placed is made of what the
 * operation answered with, and has the ETag that a GET then shows.
 */
export function viewOf({ id, sku, quantity, amountCents, status, refunds = [], ...known }: Known): OrderView {
  const done = refunds.filter((refund) => refund.status === 'succeeded' && isOfOrder(refund));
  return {
    id,
    sku,
    quantity,
    amount_cents: amountCents,
    refunded_cents: done.reduce((sum, refund) => sum + refund.amountCents, 0),
    status: status as OrderView['status'],
    address: addressOf(known),
  };
}

/** A strong ETag: it changes with every byte of the representation, and with nothing else. */
export function etagOf(view: OrderView): string {
  const digest = createHash('sha256').update(JSON.stringify(view)).digest('base64url');
  return `"${digest.slice(0, 22)}"`;
}

function addressOf({ line1, city, postalCode, country }: Partial<Known>): z.output<typeof address> | null {
  return line1 && city && postalCode && country ? { line1, city, postal_code: postalCode, country } : null;
}
