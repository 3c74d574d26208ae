'use client';

import { Button } from '../../components/ui/button.tsx';
import { PageTitle } from '../../components/ui/page-title.tsx';

/** Shown to an admin when a page could not be made, most often because the database is away. */
export default function AdminErrorPage() {
  return (
    <>
      <PageTitle lead="Most often the database does not answer. If you have just pressed a button, look at the key or the event before you press it again: each operation is recorded there.">
        This page cannot be shown right now
      </PageTitle>
      <Button type="button" onClick={() => location.reload()}>
        Try again
      </Button>
    </>
  );
}
