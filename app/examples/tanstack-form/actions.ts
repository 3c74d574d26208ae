'use server';

import { revalidatePath } from 'next/cache';
import { serverAction } from 'oncekit/next';
import { tanstackFormOrder } from '../../../shop/lab/parcel-order.ts';

export const placeOrder = serverAction(tanstackFormOrder, {
  onSettled: () => revalidatePath('/examples/tanstack-form'),
});
