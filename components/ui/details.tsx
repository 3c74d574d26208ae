import type { ReactNode } from 'react';

/** Names and values, as a description list. */
export function Details({ children }: { children: ReactNode }) {
  return <dl className="grid gap-x-6 gap-y-3 sm:grid-cols-[max-content_minmax(0,1fr)]">{children}</dl>;
}

export function Detail({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-sm text-muted max-sm:-mb-3">{name}</dt>
      <dd className="min-w-0 break-words">{children}</dd>
    </>
  );
}
