'use server';

import { revalidatePath } from 'next/cache';
import { serverAction } from 'oncekit/next';
import { hookFormOrder } from '../../../shop/lab/examples.ts';

export const placeOrder = serverAction(hookFormOrder, {
  onSettled: () => revalidatePath('/examples/react-hook-form'),
});
