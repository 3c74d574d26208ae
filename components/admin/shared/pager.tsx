import { TextLink } from '../../ui/text-link.tsx';

interface Props {
  page: number;
  hasMore: boolean;
  href: (page: number) => string;
  /** Words for the pages before and behind this one. Default: lists are newest first. */
  words?: readonly [before: string, behind: string];
}

export function Pager({ page, hasMore, href, words = ['Newer', 'Older'] }: Props) {
  if (page === 1 && !hasMore) return null;
  return (
    <nav aria-label="Pages" className="mt-4 flex items-center justify-between gap-4">
      {page > 1 ? <TextLink href={href(page - 1)}>{words[0]}</TextLink> : <span />}
      <span className="text-sm text-muted">Page {page}</span>
      {hasMore ? <TextLink href={href(page + 1)}>{words[1]}</TextLink> : <span />}
    </nav>
  );
}
