'use server';

import { redirect } from 'next/navigation';
import { withQuery } from '../../../components/admin/shared/addresses.ts';
import { messageActs } from '../../../shop/admin/messages-acts.ts';
import { requireAdminToAct } from '../require-admin.ts';

const DETAIL = '/admin/messages/detail';

/** Sends one event to one destination again. */
export async function requeueSent(form: FormData): Promise<void> {
  const actor = await requireAdminToAct();
  await actOn(actor, 'requeue', form, DETAIL, { box: 'outbox', event: text(form, 'event') });
}

/** Lets a destination go without one event. */
export async function skipSent(form: FormData): Promise<void> {
  const actor = await requireAdminToAct();
  await actOn(actor, 'skip', form, DETAIL, { box: 'outbox', event: text(form, 'event') });
}

/** Sends all dead letters of a destination again. */
export async function requeueAllSent(form: FormData): Promise<void> {
  const actor = await requireAdminToAct();
  await actOn(actor, 'requeue_all', form, '/admin/messages', { box: 'outbox', peer: text(form, 'destination') });
}

/** Lets a stopped destination go on. */
export async function resumeDestination(form: FormData): Promise<void> {
  const actor = await requireAdminToAct();
  await actOn(actor, 'resume', form, '/admin/messages', { box: 'outbox', peer: text(form, 'destination') });
}

/** Lets a received event be tried again. */
export async function requeueReceived(form: FormData): Promise<void> {
  const actor = await requireAdminToAct();
  await actOn(actor, 'requeue_received', form, DETAIL, {
    box: 'inbox',
    source: text(form, 'source'),
    event: text(form, 'event'),
  });
}

/** Does it once for the form's key, and shows what it was about with what came of it. */
async function actOn(
  actor: string,
  act: string,
  form: FormData,
  path: string,
  about: Record<string, string>,
): Promise<never> {
  const notice = await messageActs.once(act, form, actor);
  // No form of ours lacks a name; whoever sends another sees the list.
  redirect(notice === 'invalid' ? '/admin/messages' : withQuery(path, { ...about, notice }));
}

function text(form: FormData, name: string): string {
  return String(form.get(name) ?? '');
}
