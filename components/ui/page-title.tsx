import type { ReactNode } from 'react';

export function PageTitle({ children, lead }: { children: ReactNode; lead?: ReactNode }) {
  return (
    <div className="mb-6 sm:mb-8">
      <h1 className="text-2xl font-semibold tracking-tight sm:text-3xl">{children}</h1>
      {lead ? <p className="mt-2 max-w-prose text-muted">{lead}</p> : null}
    </div>
  );
}
