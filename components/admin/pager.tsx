import type { KeysQuery } from '../../lib/demo/admin.ts';
import { TextLink } from '../ui/text-link.tsx';
import { listHref } from './addresses.ts';

export function Pager({ query, hasMore }: { query: KeysQuery; hasMore: boolean }) {
  const { page } = query;
  if (page === 1 && !hasMore) return null;
  return (
    <nav aria-label="Pages" className="mt-4 flex items-center justify-between gap-4">
      {page > 1 ? <TextLink href={listHref(query, { page: page - 1 })}>Newer</TextLink> : <span />}
      <span className="text-sm text-muted">Page {page}</span>
      {hasMore ? <TextLink href={listHref(query, { page: page + 1 })}>Older</TextLink> : <span />}
    </nav>
  );
}
