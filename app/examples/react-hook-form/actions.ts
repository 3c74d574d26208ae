'use server';

import { revalidatePath } from 'next/cache';
import { serverAction } from 'oncekit/next';
import { hookFormOrder } from '../../../lib/demo/examples.ts';

export const placeOrder = serverAction(hookFormOrder, {
  onSettled: () => revalidatePath('/examples/react-hook-form'),
});
