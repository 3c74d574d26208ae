'use server';

import { revalidatePath } from 'next/cache';
import { serverAction } from 'oncekit/next';
import { hookRowsOrder } from '../../../shop/lab/parcel-order.ts';

export const placeOrder = serverAction(hookRowsOrder, {
  onSettled: () => revalidatePath('/examples/react-hook-form-rows'),
});
