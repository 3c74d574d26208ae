'use server';

import { revalidatePath } from 'next/cache';
import { serverAction } from 'oncekit/next';
import { cancelOrder } from '../../../../shop/orders/cancel.ts';
import { refund } from '../../../../shop/payments/refund.ts';

/** The answer shows the order as it is then, also when it is a replay. */
const onSettled = () => revalidatePath('/orders/[id]', 'page');

export const giveMoneyBack = serverAction(refund, { onSettled });
export const cancel = serverAction(cancelOrder, { onSettled });
