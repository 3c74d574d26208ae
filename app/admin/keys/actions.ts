'use server';

import { redirect } from 'next/navigation';
import { keyHref, withQuery } from '../../../components/admin/shared/addresses.ts';
import { keyActs } from '../../../shop/admin/acts.ts';
import { keyId, wholePrincipal } from '../../../shop/admin/query.ts';
import { requireAdminToAct } from '../require-admin.ts';

/** Gives up a key that was never seen, so that it never executes. Of a key that was seen, it shows what became of it. */
export async function fenceKey(form: FormData): Promise<void> {
  const account = await requireAdminToAct();
  const said = await keyActs.once('fence', form, account);
  const id = keyId.safeParse(Object.fromEntries(form));
  if (!id.success) redirect('/admin/keys/fence?notice=invalid');
  if (said === 'fenced' || said === 'was_fenced' || said === 'not_fenced') redirect(keyHref(id.data, said));
  redirect(withQuery('/admin/keys/fence', { ...id.data, notice: said }));
}

/** Erases what is stored of all settled keys of a person. The page reads what came of it in the record. */
export async function erasePrincipal(form: FormData): Promise<void> {
  const account = await requireAdminToAct();
  const said = await keyActs.once('erase', form, account);
  const who = wholePrincipal.safeParse(Object.fromEntries(form));
  if (!who.success) redirect('/admin/keys/erase?notice=invalid');
  redirect(withQuery('/admin/keys/erase', { ...who.data, notice: said }));
}
