import type { Principal } from 'oncekit';
import { z } from 'zod';
import { idempotency } from '../idempotency.ts';
import { quantity, sellMugs, WRAPPING_CENTS } from './example-forms.ts';
import { type PlainResult, placePlainOrder } from './order.ts';

const schema = z.object({
  quantity,
  gift: z.boolean().default(false),
  express: z.boolean().default(false),
  wrap: z.enum(['none', 'paper', 'box']).default('none'),
  card: z.enum(['good', 'declined']).default('good'),
});

const WRAPPINGS_CENTS = { none: 0, paper: 100, box: 300 };
const declined = 'The card was declined.';

/**
 * A form among what else is on real pages: other forms, dialogs, translators, controls of libraries. Each of them has an intent
 * of its own. What was chosen can be read from the amount.
 */
export const wildOrder = idempotency.operation({ name: 'example.wild', schema }).handler(({ input, ...call }) => {
  if (input.card === 'declined') return call.fail('card_declined', undefined, { status: 402, message: declined });
  return sellMugs(call, { quantity: input.quantity, extraCents: extraCentsOf(input), remark: 'ordered in the wild' });
});

/** The same without the kit, as it is usually written: what arrives is an order. */
export async function placePlainWildOrder(who: Principal | null, form: FormData): Promise<PlainResult> {
  const entered = { ...Object.fromEntries(form), gift: form.has('gift'), express: form.has('express') };
  const { success, data } = schema.safeParse(entered);
  if (success && data.card === 'declined') return { ok: false, message: declined };
  form.set('sku', 'mug');
  return await placePlainOrder(who, form, { extraCents: success ? extraCentsOf(data) : 0 });
}

function extraCentsOf({ gift, express, wrap }: z.output<typeof schema>): number {
  return (gift ? WRAPPING_CENTS : 0) + (express ? 700 : 0) + WRAPPINGS_CENTS[wrap];
}
