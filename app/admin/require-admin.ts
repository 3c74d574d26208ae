import { headers } from 'next/headers';
import { redirect } from 'next/navigation';
import type { AdminAccount } from '../../shop/admin/admin.ts';
import { isAdmin } from '../../shop/admin/session.ts';

/** The demo has one admin. */
const ADMIN: AdminAccount = { name: 'admin', tenant: null };

export type Params = Record<string, string | string[] | undefined>;

/**
 * Sends everybody but an admin to the sign-in page, which leads back to this address. Called by each admin page itself: a
 * layout does not run again when one navigates, and a proxy may be configured away. Returns who asks.
 */
export async function requireAdmin(path: string, params: Params = {}): Promise<AdminAccount> {
  if (await isAdmin()) return ADMIN;
  const said = Object.entries(params).flatMap(([name, value]) =>
    typeof value === 'string' && name !== 'notice' ? [[name, value]] : [],
  );
  const query = new URLSearchParams(said);
  redirect(signInHref(query.size > 0 ? `${path}?${query}` : path));
}

/** The same for actions: signing in leads back to the page with the form, which is to be sent again by a person. */
export async function requireAdminToAct(): Promise<AdminAccount> {
  if (await isAdmin()) return ADMIN;
  const page = (await headers()).get('referer') ?? '';
  const { pathname, search } = URL.canParse(page) ? new URL(page) : { pathname: '/admin/keys', search: '' };
  redirect(signInHref(pathname + search));
}

function signInHref(next: string): string {
  return `/admin/sign-in?${new URLSearchParams({ next })}`;
}
