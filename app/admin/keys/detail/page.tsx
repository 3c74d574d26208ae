import { notFound } from 'next/navigation';
import { KeyEvents } from '../../../../components/admin/key-events.tsx';
import { KeyFacts } from '../../../../components/admin/key-facts.tsx';
import { KeyNotice } from '../../../../components/admin/key-notice.tsx';
import { KeyOperations } from '../../../../components/admin/key-operations.tsx';
import { KeyPhases } from '../../../../components/admin/key-phases.tsx';
import { StoredAnswer } from '../../../../components/admin/stored-answer.tsx';
import { PageTitle } from '../../../../components/ui/page-title.tsx';
import { TextLink } from '../../../../components/ui/text-link.tsx';
import { admin } from '../../../../lib/demo/admin.ts';
import { findOrderOfKey } from '../../../../lib/demo/orders.ts';
import { requireAdmin } from '../../require-admin.ts';
import { resolveKey, retryKey } from './actions.ts';

export const metadata = { title: 'Key' };

type Params = Promise<Record<'tenant' | 'principal' | 'operation' | 'key' | 'notice', string | string[] | undefined>>;

/** In the query and not in the path: keys may hold slashes and dots, which paths do not keep. */
export default async function KeyPage({ searchParams }: { searchParams: Params }) {
  await requireAdmin();
  const { tenant, principal, operation, key, notice } = await searchParams;
  const parts = [tenant, principal, operation, key];
  if (!parts.every((part) => typeof part === 'string')) notFound();
  const id = { tenant, principal, operation, key } as Record<'tenant' | 'principal' | 'operation' | 'key', string>;
  const [detail, order] = await Promise.all([admin().findKey(id), findOrderOfKey(id)]);
  if (!detail) notFound();
  const now = Date.now();
  return (
    <>
      <p className="mb-2 text-sm">
        <TextLink href="/admin/keys">All keys</TextLink>
      </p>
      <PageTitle>{detail.operation}</PageTitle>
      <KeyNotice name={notice} />
      <div className="grid gap-6">
        <KeyOperations detail={detail} now={now} resolve={resolveKey} retryNow={retryKey} />
        <KeyFacts detail={detail} order={order} now={now} />
        <KeyPhases phases={detail.phases} now={now} />
        <StoredAnswer answer={detail.answer} />
        <KeyEvents events={detail.events} />
      </div>
    </>
  );
}
