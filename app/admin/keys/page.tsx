import { HeldForever } from '../../../components/admin/keys/held-forever.tsx';
import { KeyFilters } from '../../../components/admin/keys/key-filters.tsx';
import { KeyTable } from '../../../components/admin/keys/key-table.tsx';
import { OutcomeChart } from '../../../components/admin/keys/outcome-chart.tsx';
import { PromisesCard } from '../../../components/admin/keys/promises-card.tsx';
import { SettledNotices } from '../../../components/admin/keys/settled-notices.tsx';
import { StateTiles } from '../../../components/admin/keys/state-tiles.tsx';
import { StorageCard } from '../../../components/admin/keys/storage-card.tsx';
import { UnlistedNotice } from '../../../components/admin/keys/unlisted-notice.tsx';
import { listHref } from '../../../components/admin/shared/addresses.ts';
import { LiveUpdates } from '../../../components/admin/shared/live-updates.tsx';
import { Pager } from '../../../components/admin/shared/pager.tsx';
import { PageTitle } from '../../../components/ui/page-title.tsx';
import { TextLink } from '../../../components/ui/text-link.tsx';
import { admin, keptFor, operationNames } from '../../../shop/admin/admin.ts';
import { renderedAt } from '../../../shop/admin/clock.ts';
import { findKeys, foundBesides } from '../../../shop/admin/linked.ts';
import {
  chartBegin,
  filterOf,
  isNarrowed,
  type KeysQuery,
  readKeysQuery,
  SETTLED,
  STUCK,
} from '../../../shop/admin/query.ts';
import { Header, OwnNotices, PROBE } from '../header.tsx';
import { type Params, requireAdmin } from '../require-admin.ts';

export const metadata = { title: 'Keys' };

export default async function KeysPage({ searchParams }: { searchParams: Promise<Params> }) {
  const params = await searchParams;
  const account = await requireAdmin('/admin/keys', params);
  const query = readKeysQuery(params);
  const now = renderedAt();
  const since = chartBegin(now);
  const { overview, listKeys, outcomes, promises } = admin(account);
  const [all, page, buckets, promised] = await Promise.all([
    overview(),
    listKeys(filterOf(query, query.q ? await findKeys(query.q, account.tenant) : [])),
    outcomes(since),
    promises(),
  ]);
  // Asked for some keys, an admin wants those; everybody else sees first what somebody must act upon.
  const isLookedFor = all.stuck > 0 && !isNarrowed(query);
  const [waiting, ...settled] = isLookedFor ? await Promise.all([STUCK, ...SETTLED].map(listKeys)) : [];
  return (
    <>
      <Header current="keys" />
      <div className="flex flex-wrap items-start justify-between gap-x-6">
        <PageTitle {...(account.tenant === null ? {} : { lead: `Those of the tenant ${account.tenant} alone.` })}>
          Idempotency keys
        </PageTitle>
        <div className="mb-6">
          <LiveUpdates probe={PROBE} />
        </div>
      </div>
      <OwnNotices tenant={account.tenant} />
      <StateTiles overview={all} query={query} now={now} />
      {all.unlisted.length > 0 ? (
        <div className="mb-8 grid gap-2">
          {all.unlisted.map((each) => (
            <UnlistedNotice key={each.operation} {...each} />
          ))}
        </div>
      ) : null}
      <SettledNotices pages={settled} />
      {waiting ? (
        <div className="mb-8">
          <h2 className="mb-3 text-lg font-semibold">Stuck</h2>
          <KeyTable label="Stuck" rows={waiting.rows} now={now} isNarrowed />
          {waiting.hasMore ? (
            <p className="mt-3">
              <TextLink href={listHref(query, { stuck: '1' })}>All that are stuck</TextLink>
            </p>
          ) : null}
        </div>
      ) : null}
      <h2 className="mb-3 text-lg font-semibold">
        {headingOf(query, page.rows.length + (page.heldForever?.length ?? 0))}
      </h2>
      <KeyFilters query={query} operations={operationNames} foundBesides={foundBesides} isCut={page.isCut} />
      <HeldForever things={page.heldForever} />
      <KeyTable rows={page.rows} now={now} isNarrowed={isNarrowed(query)} />
      <Pager
        page={query.page}
        hasMore={page.hasMore}
        href={(page) => listHref(query, { page })}
        {...(query.sort ? { words: ['Previous', 'Next'] as const } : {})}
      />
      {all.storage ? (
        <div className="mt-8 grid items-start gap-6 lg:grid-cols-[2fr_1fr]">
          <OutcomeChart buckets={buckets} since={since} now={now} query={query} />
          <div className="grid gap-6">
            <StorageCard storage={all.storage} isEstimated={all.isEstimated} {...keptFor} />
            <PromisesCard {...promised} />
          </div>
        </div>
      ) : null}
      <p className="mt-6 flex flex-wrap gap-x-6 gap-y-2">
        <TextLink href="/admin/keys/audit" prefetch={false}>
          What people did
        </TextLink>
        <TextLink href="/admin/keys/fence" prefetch={false}>
          Give up a key that was never seen
        </TextLink>
        <TextLink href="/admin/keys/erase" prefetch={false}>
          Erase what is stored of a person
        </TextLink>
      </p>
    </>
  );
}

/** Heads the list below it: it never says that what is not there was found. */
function headingOf(query: KeysQuery, count: number): string {
  if (!isNarrowed(query)) return 'All keys';
  return count > 0 ? 'Found' : 'Nothing found';
}
