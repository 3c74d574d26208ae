import type { DatabasePromise } from 'oncekit/admin';
import { Badge } from '../../ui/badge.tsx';
import { TitledPanel } from '../../ui/titled-panel.tsx';

const tones = { ok: 'good', warning: 'warn', problem: 'bad' } as const;

/** Shows what the database promises of an answer, the worst first. */
export function PromisesCard({ engine, promises }: { engine: string; promises: readonly DatabasePromise[] }) {
  return (
    <TitledPanel title="What the database promises">
      <p className="mt-1 text-sm text-muted">{engine}</p>
      <ul className="mt-3 grid gap-3">
        {promises.map(({ level, says, fix }) => (
          <li key={says} className="grid justify-items-start gap-1">
            <Badge tone={tones[level]}>{level}</Badge>
            <p>{says}</p>
            {fix ? <p className="text-sm text-muted">{fix}</p> : null}
          </li>
        ))}
      </ul>
    </TitledPanel>
  );
}
