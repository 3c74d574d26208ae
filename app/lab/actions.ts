'use server';

import { revalidatePath } from 'next/cache';
import { serverAction } from 'oncekit/next';
import { labOrder, type PlainResult, placePlainOrder } from '../../lib/demo/lab.ts';
import { currentPrincipal } from '../../lib/demo/visitor.ts';

export const orderWithKit = serverAction(labOrder, { onSettled: () => revalidatePath('/lab') });

/** What the lab compares with: an ordinary server action, as it is usually written. */
export async function orderWithoutKit(_previous: PlainResult | null, form: FormData): Promise<PlainResult> {
  const result = await placePlainOrder(await currentPrincipal(), form);
  revalidatePath('/lab');
  return result;
}
