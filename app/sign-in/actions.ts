'use server';

import { redirect } from 'next/navigation';
import { signsIn } from '../../lib/demo/accounts.ts';
import { safeNext } from '../../lib/demo/next-path.ts';
import { postedForm } from '../../lib/demo/posted-form.ts';
import { signedIn, signedOut } from '../../lib/demo/sign-in.ts';
import { claimedSession, saveSession } from '../../lib/demo/visitor.ts';

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
