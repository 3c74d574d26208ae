import { listHref } from '../../../components/admin/addresses.ts';
import { AdminHeader } from '../../../components/admin/admin-header.tsx';
import { KeyFilters } from '../../../components/admin/key-filters.tsx';
import { KeyTable } from '../../../components/admin/key-table.tsx';
import { Pager } from '../../../components/admin/pager.tsx';
import { StateTiles } from '../../../components/admin/state-tiles.tsx';
import { PageTitle } from '../../../components/ui/page-title.tsx';
import { admin, filterOf, readKeysQuery } from '../../../lib/demo/admin.ts';
import { operations } from '../../../lib/demo/operations.ts';
import { signOut } from '../actions.ts';
import { requireAdmin } from '../require-admin.ts';

export const metadata = { title: 'Keys' };

type Params = Promise<Record<string, string | string[] | undefined>>;

export default async function KeysPage({ searchParams }: { searchParams: Params }) {
  await requireAdmin();
  const query = readKeysQuery(await searchParams);
  const [counts, page] = await Promise.all([admin().countByState(), admin().listKeys(filterOf(query))]);
  return (
    <>
      <AdminHeader current="keys" signOut={signOut} />
      <PageTitle>Idempotency keys</PageTitle>
      <StateTiles counts={counts} query={query} />
      <KeyFilters query={query} operations={operations.map(({ name }) => name)} />
      <KeyTable rows={page.rows} now={Date.now()} />
      <Pager page={query.page} hasMore={page.hasMore} href={(page) => listHref(query, { page })} />
    </>
  );
}
