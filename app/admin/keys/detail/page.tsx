import { notFound } from 'next/navigation';
import { withQuery } from '../../../../components/admin/addresses.ts';
import { KeyFacts } from '../../../../components/admin/key-facts.tsx';
import { KeyLinks } from '../../../../components/admin/key-links.tsx';
import { KeyNotice } from '../../../../components/admin/key-notice.tsx';
import { KeyOperations, RareKeyOperations } from '../../../../components/admin/key-operations.tsx';
import { KeyPhases } from '../../../../components/admin/key-phases.tsx';
import { KeyTimeline } from '../../../../components/admin/key-timeline.tsx';
import { LiveUpdates } from '../../../../components/admin/live-updates.tsx';
import { StoredAnswer } from '../../../../components/admin/stored-answer.tsx';
import { PageTitle } from '../../../../components/ui/page-title.tsx';
import { TextLink } from '../../../../components/ui/text-link.tsx';
import { admin } from '../../../../lib/demo/admin.ts';
import { linkedRows } from '../../../../lib/demo/admin-linked.ts';
import { keyId } from '../../../../lib/demo/admin-query.ts';
import { eventHref, Header, PROBE } from '../../header.tsx';
import { type Params, requireAdmin } from '../../require-admin.ts';
import { forgetKey, releaseKey, resolveKey, retryKey } from './actions.ts';

export const metadata = { title: 'Key' };

const actions = { resolve: resolveKey, retryNow: retryKey, release: releaseKey, forget: forgetKey };

/** In the query and not in the path: keys may hold slashes and dots, which paths do not keep. */
export default async function KeyPage({ searchParams }: { searchParams: Promise<Params> }) {
  const params = await searchParams;
  await requireAdmin('/admin/keys/detail', params);
  const { success, data: id } = keyId.safeParse(params);
  if (!success) notFound();
  const [detail, linked] = await Promise.all([admin().findKey(id), linkedRows(id)]);
  if (!detail) notFound();
  const now = Date.now();
  const { tenant, principal } = detail;
  return (
    <>
      <Header current="keys" />
      <p className="mb-2 text-sm">
        <TextLink href="/admin/keys">All keys</TextLink>
      </p>
      <div className="flex flex-wrap items-start justify-between gap-x-6">
        <PageTitle>{detail.operation}</PageTitle>
        <div className="mb-6">
          <LiveUpdates probe={PROBE} />
        </div>
      </div>
      <KeyNotice name={params.notice} />
      <div className="grid grid-cols-[minmax(0,1fr)] gap-6">
        <KeyOperations detail={detail} now={now} actions={actions} />
        <KeyFacts detail={detail} now={now} />
        <KeyTimeline detail={detail} />
        <KeyPhases phases={detail.phases} now={now} />
        <KeyLinks detail={detail} linked={linked} eventHref={eventHref} />
        <StoredAnswer answer={detail.answer} />
        <RareKeyOperations detail={detail} actions={actions} />
      </div>
      <p className="mt-6">
        <TextLink href={withQuery('/admin/keys/erase', { tenant, principal })} prefetch={false}>
          Erase what is stored of this principal
        </TextLink>
      </p>
    </>
  );
}
