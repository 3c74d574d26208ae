import type { ReactNode } from 'react';
import { TextLink } from '../ui/text-link.tsx';

interface Props {
  /** The list that it stands in; of a guide that is the index alone. */
  above: { href: string; name: string } | undefined;
  sections: { id: string; name: string }[];
  children: ReactNode;
}

/** A guide, with the way back above it and its headings beside it; on a phone they are folded. */
export function GuideFrame({ above, sections, children }: Props) {
  const isLong = sections.length > 2;
  return (
    <div className={isLong ? 'lg:grid lg:grid-cols-[minmax(0,1fr)_12rem] lg:gap-12' : ''}>
      <div className="min-w-0">
        <nav aria-label="Where you are" className="mb-3 flex gap-2 text-sm">
          <TextLink href="/docs" prefetch={false}>
            All docs
          </TextLink>
          {above ? (
            <>
              <span aria-hidden="true" className="text-muted">
                /
              </span>
              <TextLink href={above.href} prefetch={false}>
                {above.name}
              </TextLink>
            </>
          ) : null}
        </nav>
        {isLong ? (
          <details className="mb-6 rounded-xl border border-line bg-surface px-4 lg:hidden">
            <summary className="min-h-11 cursor-pointer py-2.5 font-medium">On this page</summary>
            <SectionList sections={sections} className="pb-3" />
          </details>
        ) : null}
        {children}
      </div>
      {isLong ? (
        <nav aria-label="On this page" className="hidden text-sm lg:block">
          <div className="sticky top-8 max-h-[calc(100dvh-4rem)] overflow-y-auto">
            <p className="mb-2 font-medium">On this page</p>
            <SectionList sections={sections} />
          </div>
        </nav>
      ) : null}
    </div>
  );
}

function SectionList({ sections, className = '' }: Pick<Props, 'sections'> & { className?: string }) {
  return (
    <ul className={`grid ${className}`}>
      {sections.map(({ id, name }) => (
        <li key={id}>
          <a href={`#${id}`} className="block rounded py-1.5 text-muted hover:text-ink lg:py-1">
            {name}
          </a>
        </li>
      ))}
    </ul>
  );
}
