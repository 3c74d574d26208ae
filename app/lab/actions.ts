'use server';

import { revalidatePath } from 'next/cache';
import type { Outcome } from 'oncekit';
import { serverAction } from 'oncekit/next';
import { createOrder } from '../../shop/api/order-create.ts';
import { chargeLabOrder } from '../../shop/lab/charge.ts';
import { readGoods } from '../../shop/lab/goods.ts';
import { labOrder, type PlainResult, placePlainOrder } from '../../shop/lab/order.ts';
import { currentRun } from '../../shop/lab/run.ts';
import type { PlacedOrder } from '../../shop/orders/orders.ts';
import { postedForm } from '../../shop/session/posted-form.ts';
import { showingRefusals } from '../../shop/session/refused-form.ts';
import { currentPrincipal } from '../../shop/session/visitor.ts';

/** A charge per order, for first answers and replayed ones alike: a crash in between loses none. */
export const orderWithKit = showingRefusals(
  serverAction(labOrder, {
    onSettled: async (outcome) => {
      revalidatePath('/lab', 'layout');
      if (outcome.ok) await chargeLabOrder(outcome.data);
    },
  }),
);

const sellInPhases = serverAction(createOrder, { onSettled: () => revalidatePath('/lab', 'layout') });

/** The same goods, sold in phases: the shop's own sale, as its API has it. */
export async function orderInPhases(_: Outcome<PlacedOrder> | null, form: FormData): Promise<Outcome<PlacedOrder>> {
  const { goods, call } = readGoods(postedForm(form));
  return await sellInPhases(goods, call);
}

/** The lab's comparison: an ordinary server action, as it is usually written. */
export async function orderWithoutKit(_previous: PlainResult | null, form: FormData): Promise<PlainResult> {
  const result = await placePlainOrder(await currentPrincipal(), postedForm(form), { run: (await currentRun())?.id });
  revalidatePath('/lab', 'layout');
  return result;
}
