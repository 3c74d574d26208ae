import { ADVICE, type Code } from 'oncekit';
import { z } from 'zod';
import { paymentMethods } from '../payments/payment-methods.ts';

// PostgreSQL cannot store NUL: refused here in words, and not there as an error.
const text = (max = 200) =>
  z
    .string()
    .trim()
    .min(1)
    .max(max)
    .regex(/^[^\0]*$/)
    .refine((value) => value.isWellFormed(), 'This is not well-formed Unicode.');

const cents = (what: string) =>
  z
    .int()
    .nonnegative()
    .meta({ description: `${what}, in cents.` });

/** The body of `POST /api/orders`. A number is a number: `"2"` and `2.5` are refused, not made fit. */
export const newOrder = z.object({
  sku: text(40),
  quantity: z.int().min(1).max(100),
  payment_method: z.enum(paymentMethods),
});

/** The body of `POST /api/orders/{id}/refunds`. */
export const newRefund = z.object({ amount_cents: z.int().min(1).max(100_000_000) });

/** The body of `PUT /api/orders/{id}/address`. */
export const address = z.object({ line1: text(), city: text(), postal_code: text(20), country: text(60) });

/** An order, as the API shows it. */
export const order = z.object({
  id: z.uuid(),
  sku: z.string(),
  quantity: z.int().positive(),
  amount_cents: cents('What it costs'),
  refunded_cents: cents('What was given back of it'),
  status: z.enum(['pending', 'paying', 'paid', 'payment_failed', 'partially_refunded', 'refunded', 'cancelled']),
  address: z
    .object({ line1: z.string(), city: z.string(), postal_code: z.string(), country: z.string() })
    .nullable()
    .meta({ description: 'Where it is delivered to; null until that is said.' }),
});

/** A refund, as the API shows it. */
export const refund = z.object({
  id: z.uuid(),
  order_id: z.uuid(),
  amount_cents: cents('What was given back'),
  status: z.enum(['pending', 'succeeded', 'failed']),
  order_status: order.shape.status,
});

/** A product, as the API shows it. */
export const products = z.array(
  z.object({ sku: z.string(), name: z.string(), price_cents: cents('What one costs'), stock: z.int().nonnegative() }),
);

/** A refusal (RFC 9457). */
export const problem = z.object({
  type: z.url().meta({ description: 'The page of this error.' }),
  title: z.string(),
  status: z.int().min(400).max(599),
  detail: z.string().meta({ description: 'A sentence that says what is wrong.' }),
  instance: z.string().regex(/^urn:uuid:/),
  code: z.enum(Object.keys(ADVICE) as [Code, ...Code[]]),
  executed: z.union([z.boolean(), z.literal('unknown')]).meta({
    description: 'Whether the effect of this key exists. `false` where that is proven not to be so.',
  }),
  retry: z.enum(['never', 'same-key', 'new-key']).meta({
    description: 'What may be sent: nothing, the same again, or another intent under a new key.',
  }),
  retryAfterMs: z.number().nonnegative().optional().meta({ description: 'When the same may be sent again, in ms.' }),
  key: z.string().optional().meta({ description: 'The idempotency key of the request.' }),
  nextKey: z.string().optional().meta({ description: 'A key for another intent. Never for this one.' }),
  reason: z.string().optional().meta({ description: 'Why the shop refused; with the code `failed`.' }),
  data: z.unknown().optional().meta({ description: 'More about the reason; with the code `failed`.' }),
  fieldErrors: z
    .record(z.string(), z.array(z.string()))
    .optional()
    .meta({ description: 'What is wrong, by field; with the code `validation`.' }),
});

/** The state of a key. */
export const keyStatus = z.object({
  operation: z.string(),
  key: z.string(),
  state: z.enum(['absent', 'in_progress', 'succeeded', 'failed', 'unknown', 'abandoned']),
  outcome: z.looseObject({ ok: z.boolean() }).optional().meta({ description: 'The stored answer, once there is one.' }),
  redirect: z.string().optional(),
  retryAfterMs: z.int().positive().optional(),
  nextKey: z.string(),
});

/** A key that will never run. */
export const fencedKey = z.object({ state: z.literal('abandoned'), nextKey: z.string() });
