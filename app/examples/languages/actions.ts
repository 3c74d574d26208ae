'use server';

import { revalidatePath } from 'next/cache';
import { serverAction } from 'oncekit/next';
import { languagesOrder } from '../../../shop/lab/example-languages.ts';

export const placeOrder = serverAction(languagesOrder, { onSettled: () => revalidatePath('/examples/languages') });
