'use server';

import { redirect } from 'next/navigation';
import { createCart } from '../../shop/orders/carts.ts';
import { postedForm } from '../../shop/session/posted-form.ts';
import { currentSession } from '../../shop/session/visitor.ts';

/** A plain server action: making a second cart harms nobody. */
export async function buy(form: FormData): Promise<void> {
  const session = await currentSession();
  const cart = session && (await createCart(session, Object.fromEntries(postedForm(form))));
  redirect(cart ? `/checkout?cart=${cart}` : '/');
}
