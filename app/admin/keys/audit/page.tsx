import { AuditFilters } from '../../../../components/admin/keys/audit-filters.tsx';
import { AuditTable } from '../../../../components/admin/keys/audit-table.tsx';
import { withQuery } from '../../../../components/admin/shared/addresses.ts';
import { Pager } from '../../../../components/admin/shared/pager.tsx';
import { PageTitle } from '../../../../components/ui/page-title.tsx';
import { TextLink } from '../../../../components/ui/text-link.tsx';
import { admin } from '../../../../shop/admin/admin.ts';
import { renderedAt } from '../../../../shop/admin/clock.ts';
import { pageOf, readAuditQuery } from '../../../../shop/admin/query.ts';
import { Header } from '../../header.tsx';
import { type Params, requireAdmin } from '../../require-admin.ts';

export const metadata = { title: 'Audit' };

/** Lists what people did: in all, or about one key or principal that the address names, also where the key is gone. */
export default async function AuditPage({ searchParams }: { searchParams: Promise<Params> }) {
  const params = await searchParams;
  const account = await requireAdmin('/admin/keys/audit', params);
  const query = readAuditQuery(params);
  const { page, ...about } = query;
  const { rows, hasMore } = await admin(account).audit({ ...about, ...pageOf(page) });
  const named = about.principal
    ? [about.key ? `the key ${about.key}` : null, about.principal].filter(Boolean).join(' of ')
    : '';
  return (
    <>
      <Header current="keys" />
      <p className="mb-2 flex flex-wrap gap-x-6 text-sm">
        <TextLink href="/admin/keys">All keys</TextLink>
        {Object.values(about).some(Boolean) ? <TextLink href="/admin/keys/audit">All that people did</TextLink> : null}
      </p>
      <PageTitle lead="Kept apart from the keys, for longer than they are.">What people did</PageTitle>
      {named ? <p className="mb-4 break-all">About {named}.</p> : null}
      <AuditFilters query={query} />
      <AuditTable rows={rows} now={renderedAt()} />
      <Pager
        page={page}
        hasMore={hasMore}
        href={(other) => withQuery('/admin/keys/audit', { ...about, page: other })}
      />
    </>
  );
}
