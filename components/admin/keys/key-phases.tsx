import type { KeyDetail, PhaseView } from 'oncekit/admin';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Cell, Row, Table } from '../../ui/table.tsx';
import { RelativeTime } from '../shared/relative-time.tsx';

const columns = ['Step', 'Kind', 'State', 'Sends', 'Proven', 'First sent', 'Finished', 'Result', 'Derived key'];

/** The steps of an operation in phases, in their order. Nothing where there are none. */
export function KeyPhases({ detail, now }: { detail: KeyDetail; now: number }) {
  const { phases } = detail;
  if (phases.length === 0) return null;
  const time = (at: Date | null) => (at ? <RelativeTime at={at} now={now} /> : '–');
  return (
    <div className="min-w-0">
      <h2 className="mb-3 text-lg font-semibold">Phases</h2>
      <Table label="Phases" columns={columns}>
        {phases.map((phase) => {
          const { state, tone, proven, finishedAt } = endOf(phase, detail);
          return (
            <Row key={phase.name}>
              <Cell className="font-mono">{phase.name}</Cell>
              <Cell>{phase.kind}</Cell>
              <Cell>
                <Badge tone={tone}>{state}</Badge>
              </Cell>
              <Cell className="text-right tabular-nums">{phase.kind === 'foreign' ? phase.sends : '–'}</Cell>
              <Cell>{proven}</Cell>
              <Cell>{time(phase.firstSentAt)}</Cell>
              <Cell>{time(finishedAt)}</Cell>
              <Shown
                text={typeof phase.result === 'object' ? phase.result && JSON.stringify(phase.result) : phase.result}
              />
              <Shown text={phase.derivedKey} />
            </Row>
          );
        })}
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

interface End {
  state: string;
  tone: Tone;
  /** What all sends of a call together have proven. */
  proven: string;
  finishedAt: Date | null;
}

/** How a step stands. A call without a result may still have ended: the key has settled in what its provider, or a person, has said. */
function endOf(phase: PhaseView, { answer, settledAt, state, needsAttention }: KeyDetail): End {
  const { kind, sends, notExecuted, finishedAt } = phase;
  if (kind !== 'foreign') return { state: phase.state, tone: toneOf(phase), proven: '–', finishedAt };
  if (phase.state === 'done') return { state: 'done', tone: 'good', proven: 'executed', finishedAt };
  if (state === 'failed' && answer?.kind === 'refusal' && !needsAttention) {
    const { reason, executed } = answer;
    if (reason === 'marked_failed')
      return { state: 'given up', tone: 'muted', proven: 'a person’s word: it did not happen', finishedAt: settledAt };
    if (executed === false) {
      const proven = `not executed: ${reason}. Nothing is in doubt`;
      return { state: 'refused', tone: 'bad', proven, finishedAt: settledAt };
    }
  }
  if (notExecuted === sends) return { state: 'not executed', tone: 'info', proven: 'not executed', finishedAt };
  const proven = notExecuted > 0 ? `not known of ${sends - notExecuted}` : 'not known';
  return state === 'unknown' || needsAttention
    ? { state: 'in doubt', tone: 'warn', proven, finishedAt }
    : { state: 'sent', tone: 'info', proven, finishedAt };
}

const toneOf = ({ state }: PhaseView): Tone => (state === 'done' ? 'good' : 'info');

/** Cut by its width alone: selecting it copies all of it. */
function Shown({ text }: { text: string | null }) {
  if (text === null) return <Cell>–</Cell>;
  return (
    <Cell className="max-w-56 truncate font-mono select-all" title={text}>
      {text}
    </Cell>
  );
}
