'use client';

import { Button } from '../components/ui/button.tsx';
import { PageTitle } from '../components/ui/page-title.tsx';

/** What a visitor sees when a page could not be made, most often because the database is away. */
export default function ErrorPage({ reset }: { error: Error; reset: () => void }) {
  return (
    <>
      <PageTitle lead="If you have just sent a form, go back to it: it finds out what became of it. Only the lab's form without oncekit cannot.">
        The shop cannot be reached right now
      </PageTitle>
      <Button type="button" onClick={reset}>
        Try again
      </Button>
    </>
  );
}
