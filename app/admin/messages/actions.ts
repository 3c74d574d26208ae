'use server';

import { redirect } from 'next/navigation';
import { withQuery } from '../../../components/admin/shared/addresses.ts';
import type { AdminAccount } from '../../../shop/admin/admin.ts';
import { messageActs } from '../../../shop/admin/messages-acts.ts';
import { ofAllTenants } from '../../../shop/admin/of-all-tenants.ts';
import { requireAdminToAct } from '../require-admin.ts';

const DETAIL = '/admin/messages/detail';

/** Sends one event to one destination again. */
export async function requeueSent(form: FormData): Promise<void> {
  const account = ofAllTenants(await requireAdminToAct());
  await actOn(account, 'requeue', form, DETAIL, { box: 'outbox', event: text(form, 'event') });
}

/** Lets a destination go without one event. */
export async function skipSent(form: FormData): Promise<void> {
  const account = ofAllTenants(await requireAdminToAct());
  await actOn(account, 'skip', form, DETAIL, { box: 'outbox', event: text(form, 'event') });
}

/** Sends all dead letters of a destination again. */
export async function requeueAllSent(form: FormData): Promise<void> {
  const account = ofAllTenants(await requireAdminToAct());
  await actOn(account, 'requeue_all', form, '/admin/messages', { box: 'outbox', peer: text(form, 'destination') });
}

/** Lets a stopped destination go on. */
export async function resumeDestination(form: FormData): Promise<void> {
  const account = ofAllTenants(await requireAdminToAct());
  await actOn(account, 'resume', form, '/admin/messages', { box: 'outbox', peer: text(form, 'destination') });
}

/** Lets a received event be tried again. */
export async function requeueReceived(form: FormData): Promise<void> {
  const account = ofAllTenants(await requireAdminToAct());
  await actOn(account, 'requeue_received', form, DETAIL, {
    box: 'inbox',
    source: text(form, 'source'),
    event: text(form, 'event'),
  });
}

/** Does it once for the form's key, and shows what it was about with what came of it. */
async function actOn(
  account: AdminAccount,
  act: string,
  form: FormData,
  path: string,
  about: Record<string, string>,
): Promise<never> {
  const notice = await messageActs.once(act, form, account);
  // No form of ours lacks a name; whoever sends another sees the list.
  redirect(notice === 'invalid' ? '/admin/messages' : withQuery(path, { ...about, notice }));
}

function text(form: FormData, name: string): string {
  return String(form.get(name) ?? '');
}
