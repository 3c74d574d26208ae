'use client';

import { useEffect, useState } from 'react';
import { Button } from '../ui/button.tsx';
import { ErrorNotice, NOT_LOADED } from './error-notice.tsx';

type Found = typeof import('./lost-page.tsx');

let found: Found | undefined;

/**
 * Most visits never see an error page, so what finds out comes while the page is idle. Not when it is needed: the network
 * may be what is broken then. Without it a person can still load the page again.
 */
const coming =
  typeof window === 'undefined'
    ? undefined
    : new Promise((idle) => (window.requestIdleCallback ?? setTimeout)(idle))
        .then(async () => {
          found = await import('./lost-page.tsx');
        })
        .catch(() => {});

/** In place of a page that could not be shown: what became of the form that was sent last, and the way there. */
export function ErrorPage() {
  const [page, setPage] = useState(found);
  useEffect(() => {
    void coming?.then(() => setPage(found));
  }, []);
  if (page) return <page.LostPage />;
  return (
    <ErrorNotice {...NOT_LOADED}>
      <Button type="button" onClick={() => location.reload()}>
        Try again
      </Button>
    </ErrorNotice>
  );
}
