import { notFound, redirect } from 'next/navigation';
import { CallAnswers } from '../../../../components/admin/keys/call-answers.tsx';
import { KeyFacts } from '../../../../components/admin/keys/key-facts.tsx';
import { KeyLinks } from '../../../../components/admin/keys/key-links.tsx';
import { KeyNotice } from '../../../../components/admin/keys/key-notice.tsx';
import { judgedCall, KeyOperations, RareKeyOperations } from '../../../../components/admin/keys/key-operations.tsx';
import { KeyPhases } from '../../../../components/admin/keys/key-phases.tsx';
import { KeyTimeline } from '../../../../components/admin/keys/key-timeline.tsx';
import { StoredAnswer } from '../../../../components/admin/keys/stored-answer.tsx';
import { withQuery } from '../../../../components/admin/shared/addresses.ts';
import { LiveUpdates } from '../../../../components/admin/shared/live-updates.tsx';
import { PageTitle } from '../../../../components/ui/page-title.tsx';
import { TextLink } from '../../../../components/ui/text-link.tsx';
import { keyActs } from '../../../../shop/admin/acts.ts';
import { admin } from '../../../../shop/admin/admin.ts';
import { callAnswers } from '../../../../shop/admin/call-answer.ts';
import { renderedAt } from '../../../../shop/admin/clock.ts';
import { callWords, linkedRows, receivedFor } from '../../../../shop/admin/linked.ts';
import { keyId } from '../../../../shop/admin/query.ts';
import { eventHref, Header, PROBE } from '../../header.tsx';
import { type Params, requireAdmin } from '../../require-admin.ts';
import { acknowledgeKey, forgetKey, releaseKey, resolveKey, retryKey } from './actions.ts';

export const metadata = { title: 'Key' };

/** In the query and not in the path: keys may hold slashes and dots, which paths do not keep. */
export default async function KeyPage({ searchParams }: { searchParams: Promise<Params> }) {
  const params = await searchParams;
  const account = await requireAdmin('/admin/keys/detail', params);
  const { success, data: id } = keyId.safeParse(params);
  if (!success) notFound();
  const isOfAll = account.tenant === null;
  const [detail, linked, received] = await Promise.all([
    admin(account).findKey(id),
    linkedRows(id),
    isOfAll ? receivedFor(id) : [],
  ]);
  if (!detail) {
    // Its row is gone: what people did to it is not.
    const { rows } = await admin(account).audit({ ...id, limit: 1, offset: 0 });
    if (rows.length > 0) redirect(withQuery('/admin/keys/audit', id));
    notFound();
  }
  const now = renderedAt();
  const { tenant, principal } = detail;
  const actKey = await keyActs.newKey(account.name);
  const refused = params.notice === 'refused' ? { kind: params.kind, typed: params.typed } : undefined;
  // What was heard of a call that a person is asked about stands in the panel that asks.
  const asked = detail.heard === null ? undefined : judgedCall(detail, now)?.name;
  const answers = callAnswers(detail, { verbs: callWords }).filter(({ step }) => step !== asked);
  const actions = {
    resolve: { send: resolveKey, actKey },
    retryNow: { send: retryKey, actKey },
    release: { send: releaseKey, actKey },
    forget: { send: forgetKey, actKey },
    acknowledge: { send: acknowledgeKey, actKey },
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
      <CallAnswers answers={answers} />
      <KeyNotice name={params.notice} heard={detail.heard} />
      <div className="grid grid-cols-[minmax(0,1fr)] gap-6">
        <KeyOperations detail={detail} now={now} linked={linked} actions={actions} refused={refused} />
        <KeyFacts detail={detail} now={now} />
        <KeyTimeline detail={detail} now={now} />
        <KeyPhases detail={detail} now={now} />
        <KeyLinks {...{ detail, linked, received }} eventHref={isOfAll ? eventHref : undefined} />
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
