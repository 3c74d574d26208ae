'use server';

import { redirect } from 'next/navigation';
import type { KeyNoticeName } from '../../../../components/admin/keys/key-notice.tsx';
import { keyHref } from '../../../../components/admin/shared/addresses.ts';
import { keyActs } from '../../../../shop/admin/acts.ts';
import type { AdminAccount } from '../../../../shop/admin/admin.ts';
import { keyId } from '../../../../shop/admin/query.ts';
import { requireAdminToAct } from '../../require-admin.ts';

const VERDICTS: Record<string, string> = { succeeded: 'found', failed: 'not_done', retry: 'send_again' };

/** An admin says what happened at the provider. */
export async function resolveKey(form: FormData): Promise<void> {
  const account = await requireAdminToAct();
  await actOn(account, VERDICTS[String(form.get('kind'))] ?? 'none', form);
}

/** Has a key looked at now that nobody works at. */
export async function retryKey(form: FormData): Promise<void> {
  const account = await requireAdminToAct();
  await actOn(account, 'retry', form);
}

/** Takes a key from an executor that no longer shows itself. */
export async function releaseKey(form: FormData): Promise<void> {
  const account = await requireAdminToAct();
  await actOn(account, 'release', form);
}

/** Erases what is stored of a settled key. */
export async function forgetKey(form: FormData): Promise<void> {
  const account = await requireAdminToAct();
  await actOn(account, 'forget', form);
}

/** Says that a person has seen to a settled key. */
export async function acknowledgeKey(form: FormData): Promise<void> {
  const account = await requireAdminToAct();
  await actOn(account, 'acknowledge', form);
}

/** Does it once for the form's key, and shows the key with what came of it. */
async function actOn(account: AdminAccount, act: string, form: FormData): Promise<never> {
  const id = keyId.safeParse(Object.fromEntries(form));
  // No form of ours lacks a key; whoever sends another sees the list.
  if (!id.success) redirect('/admin/keys');
  const notice = (await keyActs.once(act, form, account)) as KeyNoticeName;
  redirect(keyHref(id.data, notice, notice === 'refused' ? typedIn(form) : {}));
}

/** Reads which verdict was refused, and what was typed for it: the page shows it to be corrected. */
function typedIn(form: FormData) {
  const text = (name: string) => String(form.get(name) ?? '').slice(0, 1000);
  return { kind: text('kind'), typed: text('overrules') };
}
