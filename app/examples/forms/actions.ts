'use server';

import { revalidatePath } from 'next/cache';
import { redirect } from 'next/navigation';
import { serverAction } from 'oncekit/next';
import {
  dialogOrder,
  giftOrder,
  printOrder,
  sampleOrder,
  simplestOrder,
  stepsOrder,
} from '../../../shop/lab/example-forms.ts';
import { postedForm } from '../../../shop/session/posted-form.ts';

const onSettled = () => revalidatePath('/examples/forms');

export const orderMostSimply = serverAction(simplestOrder, { onSettled });
export const orderPrint = serverAction(printOrder, { onSettled });
export const orderGift = serverAction(giftOrder, { onSettled });
export const orderInSteps = serverAction(stepsOrder, { onSettled });
export const orderInDialog = serverAction(dialogOrder, { onSettled });

const sampleOnce = serverAction(sampleOrder, { redirectTo: ({ id }) => `/orders/${id}` });

/**
 * For a button's `formAction`. The key in the form belongs to the form's own operation, so the button brings another:
 * `orderSample.bind(null, key)`.
 */
export async function orderSample(key: string, sent: FormData): Promise<void> {
  const form = postedForm(sent);
  form.set('idempotency_key', key);
  const outcome = await sampleOnce(null, form);
  if (!outcome.ok) redirect(`/examples/forms?sample=${outcome.code}`);
}
