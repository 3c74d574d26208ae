'use server';

import { redirect } from 'next/navigation';
import { adminPath, signInAdmin, signOutAdmin } from '../../shop/admin/session.ts';
import { postedForm } from '../../shop/session/posted-form.ts';

export async function signIn(sent: FormData): Promise<void> {
  const form = postedForm(sent);
  const next = adminPath(form.get('next'));
  const tried = await signInAdmin(String(form.get('password') ?? ''));
  if (tried === 'right') redirect(next);
  const query = new URLSearchParams({ error: tried === 'wrong' ? 'wrong' : 'wait', next });
  if (tried !== 'wrong') query.set('minutes', String(Math.ceil(tried.waitMs / 60_000)));
  redirect(`/admin/sign-in?${query}`);
}

export async function signOut(): Promise<void> {
  await signOutAdmin();
  redirect('/admin/sign-in');
}
