'use server';

import { redirect } from 'next/navigation';
import { z } from 'zod';
import { destinationHref, receivedHref, sentHref } from '../../../components/admin/message-addresses.ts';
import { messagesAdmin } from '../../../lib/demo/admin-messages.ts';
import { nameOf } from '../../../lib/demo/admin-names.ts';
import { requireAdminToAct } from '../require-admin.ts';

const toDestination = z.object({ destination: nameOf(100) });
/** As the page has shown it: the time tells whether anybody has decided since. */
const delivery = toDestination
  .extend({ event: nameOf(255), settled_at: z.iso.datetime() })
  .transform(({ destination, event, settled_at }) => ({
    destination,
    eventId: event,
    settledAt: new Date(settled_at),
  }));
const received = z.object({ source: nameOf(100), event: nameOf(255) });

/** Sends one event to one destination again. Asked twice it is done once. */
export async function requeueSent(form: FormData): Promise<void> {
  const actor = await requireAdminToAct();
  const seen = read(delivery, form);
  const operated = await messagesAdmin().outbox.requeue(seen, actor);
  redirect(sentHref(seen.eventId, operated === 'recorded' ? 'requeued' : operated));
}

/** Lets a destination go without one event. */
export async function skipSent(form: FormData): Promise<void> {
  const actor = await requireAdminToAct();
  const seen = read(delivery, form);
  const operated = await messagesAdmin().outbox.skip(seen, actor);
  redirect(sentHref(seen.eventId, operated === 'recorded' ? 'skipped' : operated));
}

/** Sends all dead letters of a destination again. */
export async function requeueAllSent(form: FormData): Promise<void> {
  const actor = await requireAdminToAct();
  const { destination } = read(toDestination, form);
  const count = await messagesAdmin().outbox.requeueAll(destination, actor);
  redirect(destinationHref(destination, count > 0 ? 'requeued_all' : 'none_dead'));
}

/** Lets a stopped destination go on. */
export async function resumeDestination(form: FormData): Promise<void> {
  const actor = await requireAdminToAct();
  const { destination } = read(toDestination, form);
  const operated = await messagesAdmin().outbox.resume(destination, actor);
  redirect(destinationHref(destination, operated === 'recorded' ? 'resumed' : 'not_stopped'));
}

/** Lets a received event be tried again. */
export async function requeueReceived(form: FormData): Promise<void> {
  const actor = await requireAdminToAct();
  const { source, event: eventId } = read(received, form);
  const operated = await messagesAdmin().inbox.requeue({ source, eventId }, actor);
  redirect(receivedHref({ source, eventId }, operated === 'recorded' ? 'requeued' : operated));
}

/** No form of ours lacks a name; whoever sends another sees the list. */
function read<Schema extends z.ZodType>(schema: Schema, form: FormData): z.output<Schema> {
  const found = schema.safeParse(Object.fromEntries(form));
  if (!found.success) redirect('/admin/messages');
  return found.data;
}
