import type { Shape } from 'oncekit/admin';
import { TitledPanel } from '../../ui/titled-panel.tsx';
import { ShapeText } from '../shared/shape-text.tsx';

interface Props {
  title: string;
  shape: Shape | null;
  /** What it means that there is none. */
  none: string;
}

/** What a payload or a result looks like. */
export function MessageShape({ title, shape, none }: Props) {
  return (
    <TitledPanel title={title}>
      <p className="mt-2 text-muted">{shape === null ? none : 'Names and types are shown, values are not.'}</p>
      {shape === null ? null : <ShapeText shape={shape} />}
    </TitledPanel>
  );
}
