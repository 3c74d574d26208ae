import { type ReactNode, useId } from 'react';
import { Panel } from './panel.tsx';

/** A panel that is called by its heading. */
export function TitledPanel({ title, children }: { title: string; children: ReactNode }) {
  const id = useId();
  return (
    <Panel aria-labelledby={id}>
      <h2 id={id} className="text-lg font-semibold">
        {title}
      </h2>
      {children}
    </Panel>
  );
}
