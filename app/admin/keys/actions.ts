'use server';

import { redirect } from 'next/navigation';
import { keyHref, withQuery } from '../../../components/admin/addresses.ts';
import { admin } from '../../../lib/demo/admin.ts';
import { keyId, wholePrincipal } from '../../../lib/demo/admin-query.ts';
import { requireAdminToAct } from '../require-admin.ts';

/** Gives up a key that was never seen, so that it never executes. Of a key that was seen, it shows what became of it. */
export async function fenceKey(form: FormData): Promise<void> {
  const actor = await requireAdminToAct();
  const fields = Object.fromEntries(form);
  const id = keyId.safeParse(fields);
  if (!id.success) redirect('/admin/keys/fence?notice=invalid');
  const operated = await admin().fence(id.data, actor);
  if (operated === 'refused' && !(await admin().findKey(id.data))) {
    redirect(withQuery('/admin/keys/fence', { ...id.data, notice: 'refused' }));
  }
  redirect(keyHref(id.data, ({ recorded: 'fenced', changed: 'was_fenced', refused: 'not_fenced' } as const)[operated]));
}

/** Erases what is stored of all settled keys of a principal. */
export async function erasePrincipal(form: FormData): Promise<void> {
  const actor = await requireAdminToAct();
  const who = wholePrincipal.safeParse(Object.fromEntries(form));
  if (!who.success) redirect('/admin/keys/erase?notice=invalid');
  const { forgotten, unsettled } = await admin().erasePrincipal(who.data, actor);
  redirect(withQuery('/admin/keys/erase', { ...who.data, notice: 'erased', forgotten, unsettled }));
}
