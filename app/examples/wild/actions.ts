'use server';

import { redirect } from 'next/navigation';
import { serverAction } from 'oncekit/next';
import { MODAL_PAGE, modalOrder, passingOrder, SHELVES_PAGE, shelfOrder } from '../../../shop/lab/example-visits.ts';
import { placePlainWildOrder, wildOrder } from '../../../shop/lab/example-wild.ts';
import type { PlainResult } from '../../../shop/lab/order.ts';
import { postedForm } from '../../../shop/session/posted-form.ts';
import { currentPrincipal } from '../../../shop/session/visitor.ts';

export const orderInTheWild = serverAction(wildOrder);
export const saveShelf = serverAction(shelfOrder);
export const orderInPassing = serverAction(passingOrder);
export const orderInModal = serverAction(modalOrder);

/** Without the kit: what arrives is an order. */
export async function orderWildWithoutKit(_previous: PlainResult | null, sent: FormData): Promise<PlainResult> {
  return await placePlainWildOrder(await currentPrincipal(), postedForm(sent));
}

/** The same, and then the list of shelves. */
export async function saveWithoutKit(_previous: PlainResult | null, sent: FormData): Promise<PlainResult> {
  const result = await orderWildWithoutKit(null, sent);
  if (result.ok) redirect(SHELVES_PAGE);
  return result;
}

/** The same, in a modal. */
export async function orderInModalWithoutKit(_previous: PlainResult | null, sent: FormData): Promise<PlainResult> {
  const result = await orderWildWithoutKit(null, sent);
  if (result.ok) redirect(MODAL_PAGE);
  return result;
}
