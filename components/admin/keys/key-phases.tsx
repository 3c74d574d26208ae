import type { PhaseView } from 'oncekit/admin';
import { Badge } from '../../ui/badge.tsx';
import { Cell, Row, Table } from '../../ui/table.tsx';
import { RelativeTime } from '../shared/relative-time.tsx';

const columns = ['Step', 'Kind', 'State', 'Sends', 'Proven', 'First sent', 'Finished', 'Result', 'Derived key'];

/** The steps of an operation in phases, in their order. Nothing where there are none. */
export function KeyPhases({ phases, now }: { phases: readonly PhaseView[]; now: number }) {
  if (phases.length === 0) return null;
  const time = (at: Date | null) => (at ? <RelativeTime at={at} now={now} /> : '–');
  return (
    <div className="min-w-0">
      <h2 className="mb-3 text-lg font-semibold">Phases</h2>
      <Table label="Phases" columns={columns}>
        {phases.map((phase) => (
          <Row key={phase.name}>
            <Cell className="font-mono">{phase.name}</Cell>
            <Cell>{phase.kind}</Cell>
            <Cell>
              <Badge tone={phase.state === 'done' ? 'good' : 'info'}>{phase.state}</Badge>
            </Cell>
            <Cell className="text-right tabular-nums">{phase.kind === 'foreign' ? phase.sends : '–'}</Cell>
            <Cell>{provenOf(phase)}</Cell>
            <Cell>{time(phase.firstSentAt)}</Cell>
            <Cell>{time(phase.finishedAt)}</Cell>
            <Shown
              text={typeof phase.result === 'object' ? phase.result && JSON.stringify(phase.result) : phase.result}
            />
            <Shown text={phase.derivedKey} />
          </Row>
        ))}
      </Table>
      {phases.some(({ derivedKey }) => derivedKey) ? (
        <p className="mt-2 max-w-prose text-sm text-muted">
          The provider was given the derived key as its idempotency key: search its dashboard for it. Of results, names
          and types are shown; they are erased when the key settles, or once a person has seen to it.
        </p>
      ) : null}
    </div>
  );
}

/** Says what all sends of a call together have proven. */
function provenOf({ kind, state, sends, notExecuted }: PhaseView): string {
  if (kind !== 'foreign') return '–';
  if (state === 'done') return 'executed';
  if (notExecuted === sends) return 'not executed';
  return notExecuted > 0 ? `not known of ${sends - notExecuted}` : 'not known';
}

/** Cut by its width alone: selecting it copies all of it. */
function Shown({ text }: { text: string | null }) {
  if (text === null) return <Cell>–</Cell>;
  return (
    <Cell className="max-w-56 truncate font-mono select-all" title={text}>
      {text}
    </Cell>
  );
}
