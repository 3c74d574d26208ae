import type { ReactNode } from 'react';
import { PageTitle } from '../../ui/page-title.tsx';
import { TextLink } from '../../ui/text-link.tsx';

interface Props {
  title: string;
  lead: string;
  children: ReactNode;
}

/** Pages behind the page of forms in the wild, with the way back to it. */
export function WildSection({ title, lead, children }: Props) {
  return (
    <>
      <PageTitle lead={lead}>{title}</PageTitle>
      {children}
      <p className="mt-6">
        <TextLink href="/examples/wild" prefetch={false}>
          Forms in the wild
        </TextLink>
      </p>
    </>
  );
}
