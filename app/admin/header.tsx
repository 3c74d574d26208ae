import { sentHref } from '../../components/admin/messages/message-addresses.ts';
import { AdminHeader } from '../../components/admin/shared/admin-header.tsx';
import { UnexpectedNotice } from '../../components/shop/unexpected-notice.tsx';
import { Button } from '../../components/ui/button.tsx';
import { countUnexpectedMoney } from '../../shop/payments/unexpected-money.ts';
import { signOut } from './actions.ts';

const pages = [
  { name: 'keys', href: '/admin/keys', label: 'Keys' },
  { name: 'messages', href: '/admin/messages', label: 'Messages' },
  { name: 'payments', href: '/admin/payments', label: 'Money' },
] as const;

/** Where one is in the admin view, if on one of its pages, and the way out of it. */
export function Header({ current }: { current?: (typeof pages)[number]['name'] }) {
  return (
    <AdminHeader pages={pages} current={current}>
      <form action={signOut} className="pb-2">
        <Button variant="quiet">Sign out</Button>
      </form>
    </AdminHeader>
  );
}

/** Says what else waits for an admin, in front of all keys. */
export async function OwnNotices({ tenant }: { tenant: string | null }) {
  return <UnexpectedNotice count={await countUnexpectedMoney(tenant)} />;
}

/** The page of an event that a key has announced. */
export const eventHref = sentHref;

/** Reports that the app answers, and its database. */
export const PROBE = '/api/health';
