import type { PlacedOrder } from '../orders/orders.ts';
import { payments } from '../payments/payments.ts';

/** How long the lab waits for its gateway. It is next door. */
const TIMEOUT_MS = 2000;

/** The order that a charge of the lab's is for. Not `order_id`: the shop's webhook is to leave it alone. */
export const LAB_ORDER = 'lab_order_id';

/**
 * Charges an order of the lab at the local gateway, once however often it is asked: the order's id is the charge's key.
 * So two charges are two orders. Never at Stripe itself, and never an error: the order stands without it.
 */
export async function chargeLabOrder({ id, amountCents }: Pick<PlacedOrder, 'id' | 'amountCents'>): Promise<void> {
  if (!process.env.STRIPE_API_BASE) return;
  try {
    await payments().stripe.paymentIntents.create(
      {
        amount: amountCents,
        currency: 'usd',
        payment_method: 'pm_card_visa',
        confirm: true,
        metadata: { [LAB_ORDER]: id },
        automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
      },
      { idempotencyKey: `lab-order:${id}`, timeout: TIMEOUT_MS },
    );
  } catch (error) {
    console.error(
      `[demo] An order of the lab could not be charged: ${error instanceof Error ? error.name : typeof error}`,
    );
  }
}
