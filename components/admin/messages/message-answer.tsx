import type { ReactNode } from 'react';

/** One thing that can be done, what it leads to, and its button. */
export function MessageAnswer({ title, words, children }: { title: string; words: string; children: ReactNode }) {
  return (
    <div className="pb-6 last:pb-0">
      <h3 className="font-medium">{title}</h3>
      <p className="mt-1 mb-3 max-w-prose text-sm text-muted">{words}</p>
      {children}
    </div>
  );
}
