'use server';

import { revalidatePath } from 'next/cache';
import { serverAction } from 'oncekit/next';
import { REFUND_WORDS } from '../../../../components/shop/refund-words.ts';
import { cancelOrder } from '../../../../shop/orders/cancel.ts';
import { refund } from '../../../../shop/payments/refund.ts';
import { showingRefusals } from '../../../../shop/session/refused-form.ts';

/** The answer shows the order as it is then, also when it is a replay. */
const onSettled = () => revalidatePath('/orders/[id]', 'page');

export const giveMoneyBack = showingRefusals(serverAction(refund, { onSettled }), {
  words: REFUND_WORDS,
  isOpen: true,
});
export const cancel = showingRefusals(serverAction(cancelOrder, { onSettled }));
