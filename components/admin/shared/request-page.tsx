import type { ReactNode } from 'react';
import { PageTitle } from '../../ui/page-title.tsx';
import { Panel } from '../../ui/panel.tsx';
import { TextLink } from '../../ui/text-link.tsx';

interface Props {
  title: string;
  lead: string;
  notice: ReactNode;
  /** The form. */
  children: ReactNode;
}

/** A page of the keys' on which a person asks for one thing. */
export function RequestPage({ title, lead, notice, children }: Props) {
  return (
    <>
      <p className="mb-2 text-sm">
        <TextLink href="/admin/keys">All keys</TextLink>
      </p>
      <PageTitle lead={lead}>{title}</PageTitle>
      {notice}
      <Panel className="max-w-2xl">{children}</Panel>
    </>
  );
}
