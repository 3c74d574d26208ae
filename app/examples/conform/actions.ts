'use server';

import { revalidatePath } from 'next/cache';
import { serverAction } from 'oncekit/next';
import { conformOrder } from '../../../shop/lab/parcel-order.ts';

export const placeOrder = serverAction(conformOrder, { onSettled: () => revalidatePath('/examples/conform') });
