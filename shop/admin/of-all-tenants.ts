import { notFound } from 'next/navigation';
import type { AdminAccount } from './admin.ts';

/** Events have no tenant, so their pages are for admins of all: to one of a single tenant there are none. */
export function ofAllTenants(account: AdminAccount): AdminAccount {
  if (account.tenant !== null) notFound();
  return account;
}
