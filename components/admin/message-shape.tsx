import type { Shape } from 'oncekit/admin';
import { useId } from 'react';
import { Panel } from '../ui/panel.tsx';
import { ShapeText } from './shape-text.tsx';

interface Props {
  title: string;
  shape: Shape | null;
  /** What it means that there is none. */
  none: string;
}

/** What a payload or a result looks like. */
export function MessageShape({ title, shape, none }: Props) {
  const id = useId();
  return (
    <Panel aria-labelledby={id}>
      <h2 id={id} className="text-lg font-semibold">
        {title}
      </h2>
      <p className="mt-2 text-muted">{shape === null ? none : 'Names and types are shown, values are not.'}</p>
      {shape === null ? null : <ShapeText shape={shape} />}
    </Panel>
  );
}
