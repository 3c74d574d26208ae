import type { Step } from '../store/leases.ts';
import { redactAnswer, type Shape } from './redaction.ts';

/** One step of an operation in phases, as an admin may see it. */
export interface PhaseView
  extends Pick<
    Step,
    'name' | 'position' | 'kind' | 'state' | 'sends' | 'notExecuted' | 'derivedKey' | 'firstSentAt' | 'finishedAt'
  > {
  /** A person's finding about it; null again once a run has gone on with that. */
  verdict: Step['verdict'];
  /** The reference that an admin gave with that verdict. */
  reference: string | null;
  /** The shape of the stored result; null while there is none, and once the key has settled with no person to look at it. */
  result: Shape | null;
}

/**
 * A step without what was sent and what was answered. Names each field that leaves, so that a column that is added to
 * steps is not shown because nobody thought of it.
 */
export function phaseView(step: Step): PhaseView {
  const { name, position, kind, state, sends, notExecuted, derivedKey, firstSentAt, finishedAt, verdict, reference } =
    step;
  const result = step.result === null ? null : redactAnswer(step.result);
  return {
    name,
    position,
    kind,
    state,
    sends,
    notExecuted,
    derivedKey,
    firstSentAt,
    finishedAt,
    verdict,
    reference,
    result: result && ('shape' in result ? result.shape : result.kind),
  };
}
