import { listHref } from '../../../components/admin/addresses.ts';
import { KeyFilters } from '../../../components/admin/key-filters.tsx';
import { KeyTable } from '../../../components/admin/key-table.tsx';
import { LiveUpdates } from '../../../components/admin/live-updates.tsx';
import { OutcomeChart } from '../../../components/admin/outcome-chart.tsx';
import { Pager } from '../../../components/admin/pager.tsx';
import { StateTiles } from '../../../components/admin/state-tiles.tsx';
import { StorageCard } from '../../../components/admin/storage-card.tsx';
import { PageTitle } from '../../../components/ui/page-title.tsx';
import { TextLink } from '../../../components/ui/text-link.tsx';
import { admin, keptFor, operationNames } from '../../../lib/demo/admin.ts';
import { chartBegin, filterOf, isNarrowed, readKeysQuery } from '../../../lib/demo/admin-query.ts';
import { Header, PROBE } from '../header.tsx';
import { type Params, requireAdmin } from '../require-admin.ts';

export const metadata = { title: 'Keys' };

export default async function KeysPage({ searchParams }: { searchParams: Promise<Params> }) {
  const params = await searchParams;
  await requireAdmin('/admin/keys', params);
  const query = readKeysQuery(params);
  const now = Date.now();
  const since = chartBegin(now);
  const { overview, listKeys, outcomes } = admin();
  const [all, page, buckets] = await Promise.all([overview(), listKeys(filterOf(query)), outcomes(since)]);
  return (
    <>
      <Header current="keys" />
      <div className="flex flex-wrap items-start justify-between gap-x-6">
        <PageTitle>Idempotency keys</PageTitle>
        <div className="mb-6">
          <LiveUpdates probe={PROBE} />
        </div>
      </div>
      <StateTiles overview={all} query={query} now={now} />
      <div className="flex flex-col">
        {/* On a phone what may have to be acted upon comes first. */}
        <div className="mb-6 grid items-start gap-6 max-lg:order-last max-lg:mt-8 lg:grid-cols-[2fr_1fr]">
          <OutcomeChart buckets={buckets} since={since} now={now} operation={query.operation} />
          <StorageCard overview={all} {...keptFor} />
        </div>
        <div>
          <KeyFilters query={query} operations={operationNames} />
          <KeyTable rows={page.rows} now={now} isNarrowed={isNarrowed(query)} />
          <Pager
            page={query.page}
            hasMore={page.hasMore}
            href={(page) => listHref(query, { page })}
            {...(query.sort ? { words: ['Previous', 'Next'] as const } : {})}
          />
        </div>
      </div>
      <p className="mt-6 flex flex-wrap gap-x-6 gap-y-2">
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
