'use server';

import { revalidatePath } from 'next/cache';
import { createSafeActionClient, returnServerError } from 'next-safe-action';
import { enteredValues, type Outcome, type Refusal, refuse } from 'oncekit';
import { serverAction } from 'oncekit/next';
import { z } from 'zod';
import { safeActionOrder } from '../../../shop/lab/examples.ts';
import type { PlacedOrder } from '../../../shop/orders/orders.ts';
import { currentPrincipal } from '../../../shop/session/visitor.ts';

// A failure around the operation is an outcome too. `unknown`: a middleware may throw behind `next()`, where the
// order is placed.
const client = createSafeActionClient({
  handleServerError: (error): Refusal => {
    console.error('[demo] next-safe-action:', error.name); // Prisma's messages hold what was entered
    return refuse('internal', { executed: 'unknown' });
  },
}).use(async ({ next }) => {
  // Whose key it is, the kit asks by itself. This is for what else must be true: a role, a plan, a feature flag.
  if (!(await currentPrincipal())) returnServerError(refuse('unauthorized', { executed: 'unknown' }));
  return next();
});

const once = serverAction(safeActionOrder, { onSettled: () => revalidatePath('/examples/next-safe-action') });

// The form goes through whole: its key is read, its fields are validated and fingerprinted by the operation.
const safeOrder = client.inputSchema(z.instanceof(FormData)).action(({ parsedInput: form }) => once(null, form));

export async function placeOrder(_: Outcome<PlacedOrder> | null, form: FormData): Promise<Outcome<PlacedOrder>> {
  const { data, serverError } = await safeOrder(form);
  if (data) return data;
  // A refusal from out here knows nothing of the form; without JavaScript its fields are filled from this.
  return { values: enteredValues(form), ...(serverError ?? refuse('malformed_body', { executed: 'unknown' })) };
}
