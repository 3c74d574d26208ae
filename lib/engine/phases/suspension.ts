import { equalJitter } from '../../core/backoff.ts';
import { CodedError, isSetUpWrongly, retryAfterOf } from '../../core/errors.ts';
import { recordDelay } from '../../telemetry/metrics.ts';
import { recordTransition } from '../instrumentation.ts';
import { type CallFailure, recordCallFailure } from './foreign-record.ts';
import { endRun, type PhasesRun, reportError } from './run.ts';

/**
 * How long the completer leaves a key alone, by how often it was taken up: a second at first, an hour in the end. With
 * this factor a pause is about a third of all that were before it, and with the worst of luck half of them. So a provider
 * that is back after an outage has its calls within half of the time that it was away: quick for minutes, slow for days,
 * and never over.
 */
const PACE = { baseMs: 1000, capMs: 3_600_000, factor: 1.25 };
/** How old a key may be that a run has not finished, before a person is told. */
const ATTENTION_AFTER_MS = 900_000;
const TOO_LONG = 'not finished for long';

type SuspendedRun<Tx> = Pick<PhasesRun<Tx>, 'engine' | 'held' | 'options'>;

/**
 * When the completer is to look at a key again, and from which age on a person is to look at it meanwhile.
 *
 * @param error what the run has ended with: a wait that it asks for is followed, up to the longest pause
 */
function pauseAfter<Tx>({ options }: SuspendedRun<Tx>, attempts: number, error?: unknown) {
  const paceMs = equalJitter(Math.max(1, attempts), PACE, Math.random());
  const pauseMs = Math.max(paceMs, retryAfterOf(error));
  return { pauseMs, attentionAfterMs: options.attentionAfterMs ?? ATTENTION_AFTER_MS };
}

/** Lets go of a key whose run threw: it goes on after a pause, however often that happens. */
export async function suspendRun<Tx>(running: PhasesRun<Tx>, error: unknown): Promise<void> {
  const { engine, held, transaction, stopSignal, heartbeat } = running;
  await heartbeat.stop(); // a renewal that came behind it would lease the key to nobody
  // A run that got further, or was told to stop, says nothing against the next one.
  const hasProgressed = running.hasFinishedCall || transaction.hasFinishedPhase;
  const put = pauseAfter(running, hasProgressed || stopSignal?.aborted ? 1 : held.attempts, error);
  recordDelay(put.pauseMs, 'completer');
  await recordAttention(running, await engine.store.suspend(held, put));
}

/**
 * Puts the completer's next look off before the run begins, where the pace asks for more than a lease: a run that kills
 * its process comes to no end that could do it. A client's retry need not wait for that.
 */
export async function postponeCompleter<Tx>(left: SuspendedRun<Tx>): Promise<void> {
  const { engine, held } = left;
  const put = pauseAfter(left, held.attempts);
  if (put.pauseMs > engine.config.leaseMs) await recordAttention(left, await engine.store.postpone(held, put));
}

/** Leaves a key to a person at once, and tells them why: no later run could do better. */
export async function leaveToPerson<Tx>({ engine, held }: PhasesRun<Tx>, why: string): Promise<void> {
  const steps = await engine.store.steps(held.id);
  // A call that was begun may have happened.
  if (held.state === 'in_progress' && steps.some(({ state }) => state === 'started')) {
    await engine.store.markUnknown(held, { askAfterMs: null, attentionAfterMs: 0 });
    recordTransition(engine.config, held.id, { from: held.state, to: 'unknown', attempt: held.attempts });
  } else {
    await engine.store.suspend(held, { pauseMs: null, attentionAfterMs: 0 });
  }
  await engine.store.recordEvent(held.id, { type: 'needs_attention', actor: 'executor', detail: { why } });
}

/**
 * Ends the run: the outcome of a foreign call cannot be learned now (S4).
 *
 * @param canAsk whether it can be asked about, or sent again, later; otherwise only a person can go on
 * @param needsPerson whether asking will most likely not help
 * @param failure what the call has failed with last
 */
export async function endUnknown<Tx>(
  running: PhasesRun<Tx>,
  how: { step: string; canAsk: boolean; needsPerson: boolean; failure: CallFailure | undefined },
): Promise<never> {
  const { step, canAsk, needsPerson, failure } = how;
  const { engine, held, heartbeat } = running;
  await heartbeat.stop(); // a renewal that came behind it would make a key due that only a person can go on with
  const { pauseMs, attentionAfterMs } = pauseAfter(running, held.attempts, failure?.error);
  if (canAsk) recordDelay(pauseMs, 'completer');
  const row = await engine.store.markUnknown(held, {
    askAfterMs: canAsk ? pauseMs : null,
    attentionAfterMs: needsPerson || !canAsk ? 0 : attentionAfterMs,
  });
  if (held.state === 'in_progress') {
    await engine.store.recordEvent(held.id, { type: 'unknown', actor: 'executor', detail: { step } });
  }
  recordTransition(engine.config, held.id, { from: held.state, to: 'unknown', attempt: held.attempts });
  if (failure) {
    const { of, error } = failure;
    const words = `The ${of} of ${step} has failed, and what became of it is not known.`;
    // An error of the set-up is reported as it is.
    reportError(running, isSetUpWrongly(error) ? error : new CodedError('outcome_unknown', words, { cause: error }));
    await recordCallFailure(running, step, failure);
  }
  const asked = needsPerson ? 'asking has not told what became of it' : TOO_LONG;
  const why = canAsk ? asked : 'nobody can be asked what became of it';
  await recordAttention(running, row.needsAttention, why);
  return endRun(running, { row });
}

/** Records that from here on a person is asked to look at the key, and why: once. */
async function recordAttention<Tx>({ engine, held }: SuspendedRun<Tx>, needsAttention: boolean, why = TOO_LONG) {
  if (!needsAttention || held.needsAttention) return;
  await engine.store.recordEvent(held.id, { type: 'needs_attention', actor: 'executor', detail: { why } });
}
