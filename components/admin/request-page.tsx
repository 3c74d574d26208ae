import type { ReactNode } from 'react';
import { PageTitle } from '../ui/page-title.tsx';
import { Panel } from '../ui/panel.tsx';
import { TextLink } from '../ui/text-link.tsx';
import { AdminHeader } from './admin-header.tsx';

interface Props {
  title: string;
  lead: string;
  notice: ReactNode;
  signOut: () => Promise<void>;
  /** The form. */
  children: ReactNode;
}

/** A page of the keys' on which a person asks for one thing. */
export function RequestPage({ title, lead, notice, signOut, children }: Props) {
  return (
    <>
      <AdminHeader current="keys" signOut={signOut} />
      <p className="mb-2 text-sm">
        <TextLink href="/admin/keys">All keys</TextLink>
      </p>
      <PageTitle lead={lead}>{title}</PageTitle>
      {notice}
      <Panel className="max-w-2xl">{children}</Panel>
    </>
  );
}
