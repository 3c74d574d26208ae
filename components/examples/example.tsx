import type { ReactNode } from 'react';
import { Panel } from '../ui/panel.tsx';

interface Props {
  id: string;
  title: string;
  text: string;
  children: ReactNode;
}

/** One of several examples of a page: what it is, and its form. */
export function Example({ id, title, text, children }: Props) {
  return (
    <Panel aria-labelledby={id} className="grid content-start gap-4">
      <div className="grid gap-1">
        <h2 id={id} className="text-lg font-semibold">
          {title}
        </h2>
        <p className="text-muted">{text}</p>
      </div>
      {children}
    </Panel>
  );
}
