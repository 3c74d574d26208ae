'use server';

import { redirect } from 'next/navigation';
import { signsIn } from '../../shop/session/accounts.ts';
import { safeNext } from '../../shop/session/next-path.ts';
import { postedForm } from '../../shop/session/posted-form.ts';
import { signedIn, signedOut } from '../../shop/session/sign-in.ts';
import { claimedSession, saveSession } from '../../shop/session/visitor.ts';

export async function signIn(sent: FormData): Promise<void> {
  const form = postedForm(sent);
  const next = safeNext(form.get('next'));
  const account = String(form.get('account') ?? '')
    .trim()
    .toLowerCase();
  if (!signsIn(account, String(form.get('token') ?? ''))) {
    redirect(`/sign-in?${new URLSearchParams({ error: 'wrong', account, next })}`);
  }
  await saveSession(await signedIn(await claimedSession(), account));
  redirect(next);
}

export async function signOut(): Promise<void> {
  await saveSession(await signedOut(await claimedSession()));
  redirect('/');
}
