'use server';

import { redirect } from 'next/navigation';
import { signInAdmin, signOutAdmin } from '../../lib/demo/admin-session.ts';

export async function signIn(form: FormData): Promise<void> {
  const result = await signInAdmin(String(form.get('password') ?? ''));
  redirect(result === 'signed-in' ? '/admin/keys' : `/admin/sign-in?error=${result}`);
}

export async function signOut(): Promise<void> {
  await signOutAdmin();
  redirect('/admin/sign-in');
}
