import { CodedError, isSetUpWrongly, LeaseLostError } from '../../core/errors.ts';
import type { KeyId } from '../../core/scope.ts';
import type { HeldKey, StepKind } from '../../store/leases.ts';
import { inKeySpan } from '../../telemetry/span.ts';
import type { CrashPoint } from '../config.ts';
import type { Engine } from '../engine.ts';
import type { RefusalAnswer } from '../handler.ts';
import type { startHeartbeat } from './heartbeat.ts';
import type { Entry, Journal } from './journal.ts';
import type { RunSettings } from './open-transaction.ts';
import type { EndRow, RunTransaction } from './run-transaction.ts';

/** The end of a run before its function's own: the settled or unknown row, a refusal to store, or an error. */
type Ending = EndRow | { refusal: RefusalAnswer } | { error: unknown };

/** One run of a phases function by the executor that holds its key. */
export interface PhasesRun<Tx> extends RunSettings<Tx> {
  /** Replaced when the key comes back from `unknown`, under a higher token. */
  held: HeldKey;
  /** When the run took it up, in milliseconds of `performance.now()`: the ages of its steps count from there. */
  readonly heldAt: number;
  readonly heartbeat: ReturnType<typeof startHeartbeat>;
  readonly journal: Journal;
  input: unknown;
  /** The method of the request that the key was claimed for, where its stored input says it. */
  method?: string | undefined;
  /** Aborted when the lease is lost, or the time is up. */
  readonly signal: AbortSignal;
  /** Ends the run before its next step: a worker that stops does not break off a call that is under way. */
  readonly stopSignal: AbortSignal | undefined;
  readonly transaction: RunTransaction<Tx>;
  /** True if this run has finished a foreign call. */
  hasFinishedCall: boolean;
  ending: Ending | undefined;
}

/** Unwinds a phases function whose run has ended. What the function does with it changes nothing. */
export class RunEnded extends Error {
  override readonly name = 'RunEnded';
}

/** Ends the run, whatever the function makes of it: a `catch` around a foreign call must not turn it into a result. */
export function endRun<Tx>(running: PhasesRun<Tx>, ending: Ending): never {
  running.ending ??= ending;
  throw new RunEnded('This run has ended; its outcome is stored, or a later run goes on.');
}

/** Runs a step. What is wrong with it ends the run: the function must not decide anything on the strength of that. */
export async function runStep<Tx, R>(
  running: PhasesRun<Tx>,
  name: string,
  kind: StepKind,
  work: (entry: Entry) => Promise<R>,
): Promise<R> {
  let entry: Entry | undefined;
  try {
    entry = running.journal.enter(name, kind);
    return await work(entry);
  } catch (error) {
    return endRun(running, { error });
  } finally {
    if (entry) running.journal.leave(); // else another step is open
  }
}

/**
 * Called before each step that is not stored yet.
 *
 * @throws RunEnded when nothing more may be done in this run
 */
export function assertGoesOn<Tx>(running: PhasesRun<Tx>): void {
  if (running.ending) endRun(running, running.ending);
  for (const signal of [running.signal, running.stopSignal]) {
    if (signal?.aborted) endRun(running, { error: abortErrorOf(signal) });
  }
}

/** Why a run may not go on: its lease is lost, or its time is up. */
export function abortErrorOf({ reason }: AbortSignal): unknown {
  if (reason instanceof LeaseLostError) return reason;
  return new CodedError('unavailable', 'The time of this run is up; a later run goes on.', { cause: reason });
}

/** Called as a step that is not stored yet begins, so that none runs beside a COMMIT. Throws as `assertGoesOn` does, and what a COMMIT before it has failed with. */
export async function beginStep<Tx>(running: PhasesRun<Tx>): Promise<void> {
  await running.transaction.ready();
  assertGoesOn(running);
}

/** Passes an error on that changes nothing about the run. */
export function reportError<Tx>({ engine, held }: Pick<PhasesRun<Tx>, 'engine' | 'held'>, error: unknown): void {
  const { operation, key } = held.id;
  engine.config.onError(error, { operation, key, during: isSetUpWrongly(error) ? 'setup' : 'phases' });
}

/** Calls the moment of a step at which a test may kill the process. */
export async function reach<Tx>(
  { engine, held }: { engine: Engine<Tx>; held: { id: KeyId } },
  point: CrashPoint,
  step?: string,
): Promise<void> {
  const { operation, key } = held.id;
  await engine.config.onPoint?.(point, { operation, key, ...(step === undefined ? {} : { step }) });
}

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
  const { id, attempts } = running.held;
  const about = {
    operation: id.operation,
    key: id.key,
    attempt: attempts,
    attributes: { 'idempotency.step': step },
    kind: kind === 'foreign' ? ('client' as const) : ('internal' as const),
    blame: (error: unknown) => blameFor(running, error),
  };
  return await inKeySpan(`idempotency.${kind}`, about, work);
}

/** A run's end is thrown through its step as `RunEnded`. */
function blameFor<Tx>({ ending }: PhasesRun<Tx>, error: unknown): unknown {
  if (!(error instanceof RunEnded)) return error;
  return ending && 'error' in ending ? ending.error : undefined;
}
