import type { KeyDetail, PhaseView } from 'oncekit/admin';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { CopyText } from '../../ui/copy-text.tsx';
import { Cell, Row, Table } from '../../ui/table.tsx';
import { ListedMoment } from '../shared/moment.tsx';

const columns = ['Step', 'State', 'Proven', 'Sends', 'First sent', 'Finished'];

/** The steps of an operation in phases, in their order. Nothing where there are none. */
export function KeyPhases({ detail, now }: { detail: KeyDetail; now: number }) {
  const { phases } = detail;
  if (phases.length === 0) return null;
  return (
    <div className="min-w-0">
      <h2 className="mb-3 text-lg font-semibold">Phases</h2>
      <Table label="Phases" columns={columns} isStacked>
        {phases.map((phase) => (
          <Phase key={phase.name} phase={phase} detail={detail} now={now} />
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

/** One step; below it, in full, the key to look for at the provider and the shape of its result. */
function Phase({ phase, detail, now }: { phase: PhaseView; detail: KeyDetail; now: number }) {
  const { name, kind, sends, firstSentAt, derivedKey, result } = phase;
  const { state, tone, proven, finishedAt } = endOf(phase, detail);
  const hasMore = derivedKey !== null || result !== null;
  const end = hasMore ? 'border-0! sm:pb-1!' : '';
  const time = (at: Date | null, label: string) => (
    <Cell label={label} className={`${end} ${at ? '' : 'max-sm:hidden!'}`}>
      {at ? <ListedMoment at={at} now={now} /> : '–'}
    </Cell>
  );
  return (
    <>
      <Row className={hasMore ? 'max-sm:border-0! max-sm:pb-1!' : ''}>
        <Cell className={`${end} max-sm:items-baseline`}>
          <span className="font-mono">{name}</span> <span className="block text-muted">{kind}</span>
        </Cell>
        <Cell className={end}>
          <Badge tone={tone}>{state}</Badge>
        </Cell>
        <Cell label="Proven" className={`${end} whitespace-normal! ${proven === '–' ? 'max-sm:hidden!' : ''}`}>
          {proven}
        </Cell>
        <Cell label="Sends" className={`tabular-nums ${end} ${kind === 'foreign' ? '' : 'max-sm:hidden!'}`}>
          {kind === 'foreign' ? sends : '–'}
        </Cell>
        {time(firstSentAt, 'First sent')}
        {time(finishedAt, 'Finished')}
      </Row>
      {hasMore ? (
        <Row className="max-sm:pt-0!">
          <Cell colSpan={columns.length} className="whitespace-normal! max-sm:block! sm:pt-0!">
            {derivedKey === null ? null : (
              <p>
                <span className="text-muted">Derived key</span> <CopyText text={derivedKey} name="the derived key" />
              </p>
            )}
            {result === null ? null : (
              <p>
                <span className="text-muted">Result</span>{' '}
                <code className="font-mono break-all">
                  {typeof result === 'object' ? JSON.stringify(result) : result}
                </code>
              </p>
            )}
          </Cell>
        </Row>
      ) : null}
    </>
  );
}

interface End {
  state: string;
  tone: Tone;
  /** Says what all sends of a call together have proven. */
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
