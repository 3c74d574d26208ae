'use server';

import { redirect } from 'next/navigation';
import { signsIn } from '../../lib/demo/accounts.ts';
import { adoptCarts } from '../../lib/demo/carts.ts';
import { safeNext } from '../../lib/demo/next-path.ts';
import { newSession } from '../../lib/demo/session.ts';
import { currentSession, saveSession } from '../../lib/demo/visitor.ts';

export async function signIn(form: FormData): Promise<void> {
  const next = safeNext(form.get('next'));
  const account = String(form.get('account') ?? '')
    .trim()
    .toLowerCase();
  if (!signsIn(account, String(form.get('token') ?? ''))) {
    redirect(`/sign-in?${new URLSearchParams({ error: 'wrong', account, next })}`);
  }
  // The shopper id stays: what was begun anonymously goes on under the account.
  const known = await currentSession();
  // Whoever signs in over another account is another person: nothing of the first one's goes along.
  const session = known && (!known.account || known.account === account) ? known : newSession();
  await adoptCarts(session.shopperId, account);
  await saveSession({ ...session, account });
  redirect(next);
}

export async function signOut(): Promise<void> {
  // A new shopper id as well: the next person at this browser has nothing to do with this one's carts.
  await saveSession(newSession());
  redirect('/');
}
