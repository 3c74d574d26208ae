'use server';

import { redirect } from 'next/navigation';
import { serverAction } from 'oncekit/next';
import { wildOrder } from '../../../shop/lab/example-forms.ts';
import { MODAL_PAGE, modalOrder, passingOrder, SHELVES_PAGE, shelfOrder } from '../../../shop/lab/example-visits.ts';
import { placePlainOrder } from '../../../shop/lab/order.ts';
import { postedForm } from '../../../shop/session/posted-form.ts';
import { currentPrincipal } from '../../../shop/session/visitor.ts';

export const orderInTheWild = serverAction(wildOrder);
export const saveShelf = serverAction(shelfOrder);
export const orderInPassing = serverAction(passingOrder);
export const orderInModal = serverAction(modalOrder);

/** Without the kit, as it is usually written: what arrives is an order. */
export async function saveWithoutKit(sent: FormData): Promise<void> {
  const { ok } = await placePlainOrder(await currentPrincipal(), postedForm(sent));
  if (ok) redirect(SHELVES_PAGE);
}

/** The same, in a modal. */
export async function orderInModalWithoutKit(sent: FormData): Promise<void> {
  const { ok } = await placePlainOrder(await currentPrincipal(), postedForm(sent));
  if (ok) redirect(MODAL_PAGE);
}
