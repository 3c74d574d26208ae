'use server';

import { redirect } from 'next/navigation';
import { z } from 'zod';
import { keyHref } from '../../../../components/admin/addresses.ts';
import { admin } from '../../../../lib/demo/admin.ts';
import { keyId } from '../../../../lib/demo/admin-query.ts';
import { requireAdminToAct } from '../../require-admin.ts';

/** The key as the page has shown it. */
const seenKey = keyId
  .extend({ fencing_token: z.coerce.number().int().min(0).max(2_147_483_647) })
  .transform(({ fencing_token, ...id }) => ({ ...id, fencingToken: fencing_token }));

const verdict = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('succeeded'), reference: z.string().trim().min(1).max(255) }),
  z.object({ kind: z.literal('failed') }),
  z.object({ kind: z.literal('retry') }),
]);

/** What happened at the provider, by an admin's word. Sent twice it is recorded once. */
export async function resolveKey(form: FormData): Promise<void> {
  const actor = await requireAdminToAct();
  const seen = readSeen(form);
  const given = verdict.safeParse(Object.fromEntries(form));
  if (!given.success) redirect(keyHref(seen, 'reference'));
  redirect(keyHref(seen, await admin().resolve(seen, given.data, actor)));
}

/** Has a key looked at now that nobody works at. */
export async function retryKey(form: FormData): Promise<void> {
  const actor = await requireAdminToAct();
  const seen = readSeen(form);
  const operated = await admin().retryNow(seen, actor);
  redirect(keyHref(seen, operated === 'recorded' ? 'retried' : operated));
}

/** Takes a key from an executor that no longer shows itself. */
export async function releaseKey(form: FormData): Promise<void> {
  const actor = await requireAdminToAct();
  const seen = readSeen(form);
  const operated = await admin().release(seen, actor);
  redirect(keyHref(seen, ({ recorded: 'released', changed: 'changed', refused: 'not_released' } as const)[operated]));
}

/** Erases what is stored of a settled key. */
export async function forgetKey(form: FormData): Promise<void> {
  const actor = await requireAdminToAct();
  const seen = readSeen(form);
  const operated = await admin().forget(seen, actor);
  redirect(keyHref(seen, ({ recorded: 'forgotten', changed: 'changed', refused: 'not_forgotten' } as const)[operated]));
}

/** No form of ours lacks a key; whoever sends another sees the list. */
function readSeen(form: FormData) {
  const seen = seenKey.safeParse(Object.fromEntries(form));
  if (!seen.success) redirect('/admin/keys');
  return seen.data;
}
