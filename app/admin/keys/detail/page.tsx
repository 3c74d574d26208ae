import { notFound, redirect } from 'next/navigation';
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
import { keyActs } from '../../../../lib/demo/admin-acts.ts';
import { renderedAt } from '../../../../lib/demo/admin-clock.ts';
import { linkedRows } from '../../../../lib/demo/admin-linked.ts';
import { keyId } from '../../../../lib/demo/admin-query.ts';
import { eventHref, Header, PROBE } from '../../header.tsx';
import { type Params, requireAdmin } from '../../require-admin.ts';
import { forgetKey, releaseKey, resolveKey, retryKey } from './actions.ts';

export const metadata = { title: 'Key' };

/** In the query and not in the path: keys may hold slashes and dots, which paths do not keep. */
export default async function KeyPage({ searchParams }: { searchParams: Promise<Params> }) {
  const params = await searchParams;
  const actor = await requireAdmin('/admin/keys/detail', params);
  const { success, data: id } = keyId.safeParse(params);
  if (!success) notFound();
  const [detail, linked] = await Promise.all([admin().findKey(id), linkedRows(id)]);
  if (!detail) {
    // Its row is gone: what people did to it is not.
    const { rows } = await admin().audit({ ...id, limit: 1, offset: 0 });
    if (rows.length > 0) redirect(withQuery('/admin/keys/audit', id));
    notFound();
  }
  const now = renderedAt();
  const { tenant, principal } = detail;
  const actKey = await keyActs.newKey(actor);
  const actions = {
    resolve: { send: resolveKey, actKey },
    retryNow: { send: retryKey, actKey },
    release: { send: releaseKey, actKey },
    forget: { send: forgetKey, actKey },
  };
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
