'use server';

import { redirect } from 'next/navigation';
import { createCart } from '../../lib/demo/carts.ts';
import { postedForm } from '../../lib/demo/posted-form.ts';
import { currentSession } from '../../lib/demo/visitor.ts';

/** A plain server action: making a second cart harms nobody. */
export async function buy(form: FormData): Promise<void> {
  const session = await currentSession();
  const cart = session && (await createCart(session, Object.fromEntries(postedForm(form))));
  redirect(cart ? `/checkout?cart=${cart}` : '/');
}
