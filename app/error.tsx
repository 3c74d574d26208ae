'use client';

import { Button } from '../components/ui/button.tsx';
import { Empty } from '../components/ui/empty.tsx';
import { PageTitle } from '../components/ui/page-title.tsx';

/** What a visitor sees when a page could not be made, most often because the database is away. */
export default function ErrorPage({ reset }: { error: Error; reset: () => void }) {
  return (
    <>
      <PageTitle>The shop cannot be reached right now</PageTitle>
      <Empty icon="signal">
        <p className="max-w-prose text-muted">
          If you have just sent a form, go back to it: it finds out what became of it. Only the lab’s form without
          oncekit cannot.
        </p>
        <Button type="button" onClick={reset}>
          Try again
        </Button>
      </Empty>
    </>
  );
}
