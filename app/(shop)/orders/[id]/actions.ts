'use server';

import { revalidatePath } from 'next/cache';
import { serverAction } from 'oncekit/next';
import { cancelOrder } from '../../../../lib/demo/cancel.ts';
import { refund } from '../../../../lib/demo/refund.ts';

/** The answer shows the order as it is then, also when it is a replay. */
const onSettled = () => revalidatePath('/orders/[id]', 'page');

export const giveMoneyBack = serverAction(refund, { onSettled });
export const cancel = serverAction(cancelOrder, { onSettled });
