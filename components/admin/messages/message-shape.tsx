import type { Shape } from 'oncekit/admin';
import { TitledPanel } from '../../ui/titled-panel.tsx';
import { ShapeText } from '../shared/shape-text.tsx';

interface Props {
  title: string;
  shape: Shape | null;
  /** Shown where there is no shape. */
  none: string;
}

/** The shape of a payload or a result. */
export function MessageShape({ title, shape, none }: Props) {
  return (
    <TitledPanel title={title}>
      <p className="mt-2 text-muted">{shape === null ? none : 'Names and types are shown, values are not.'}</p>
      {shape === null ? null : <ShapeText shape={shape} />}
    </TitledPanel>
  );
}
