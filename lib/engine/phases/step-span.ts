import { inSpan, isTraced } from '../../telemetry/span.ts';
import { type PhasesRun, RunEnded } from './run.ts';

/**
 * Runs a step that is not stored yet in a span of its own: `idempotency.atomic` or `idempotency.foreign`. An end that the
 * step has led to on purpose, such as a declined card, is no failure of it.
 */
export async function inStepSpan<Tx, R>(
  running: PhasesRun<Tx>,
  kind: 'atomic' | 'foreign',
  step: string,
  work: () => Promise<R>,
): Promise<R> {
  if (!isTraced()) return await work();
  const { id, attempts } = running.held;
  const attributes = {
    'idempotency.operation': id.operation,
    'idempotency.key': id.key,
    'idempotency.attempt': attempts,
    'idempotency.step': step,
  };
  return await inSpan(
    `idempotency.${kind}`,
    { kind: kind === 'foreign' ? 'client' : 'internal', attributes, blame: (error) => blameFor(running, error) },
    work,
  );
}

/** A run's end is thrown through its step as `RunEnded`. */
function blameFor<Tx>({ ending }: PhasesRun<Tx>, error: unknown): unknown {
  if (!(error instanceof RunEnded)) return error;
  return ending && 'error' in ending ? ending.error : undefined;
}
