import type { ReactNode } from 'react';
import { Empty } from './empty.tsx';
import { PageTitle } from './page-title.tsx';

/** In place of what is not there: why it may be so, and the ways back. */
export function NothingHere({ words, children }: { words: string; children: ReactNode }) {
  return (
    <>
      <PageTitle>There is nothing here</PageTitle>
      <Empty icon="lost">
        <p className="max-w-prose text-muted">{words}</p>
        {children}
      </Empty>
    </>
  );
}
