'use server';

import { revalidatePath } from 'next/cache';
import { serverAction } from 'oncekit/next';
import { tabsOrder } from '../../../shop/lab/example-tabs.ts';

export const placeOrder = serverAction(tabsOrder, { onSettled: () => revalidatePath('/examples/tabs') });
