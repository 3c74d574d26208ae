import { fullJitter } from '../core/backoff.ts';
import { recordDelay } from '../telemetry/keys.ts';
import { endRun, type Running } from './running.ts';
import { transitioned } from './transition.ts';

/** How often an unfinished key is taken up before it waits for a person. */
const MAX_ATTEMPTS = 30;
const JITTER = { baseMs: 1000, capMs: 60_000 };
const LEAST_MS = 250;

/** How long the completer leaves a key alone that could not be finished. */
function pauseMs(attempts: number): number {
  return LEAST_MS + fullJitter(attempts, JITTER, Math.random());
}

function recordedPauseMs(attempts: number): number {
  const ms = pauseMs(attempts);
  recordDelay(ms, 'completer');
  return ms;
}

type Left<Tx> = Pick<Running<Tx>, 'engine' | 'held' | 'options' | 'canAskAgain'>;

/** Lets go of a key whose run threw: it goes on after a pause, or waits for a person where that has happened too often. */
export async function letGo<Tx>(left: Left<Tx>): Promise<void> {
  const { engine, held } = left;
  if (held.attempts >= maxAttempts(left)) await giveUp(left);
  else await engine.store.suspend(held, recordedPauseMs(held.attempts));
}

/** Whether a key was taken up too often without an end: also where each run has killed its process. */
export function isHopeless<Tx>(left: Left<Tx>): boolean {
  return left.held.attempts > maxAttempts(left);
}

/** Leaves a key to a person. */
export async function giveUp<Tx>({ engine, held, canAskAgain }: Left<Tx>): Promise<void> {
  const steps = await engine.store.steps(held.id);
  // A call that was begun may have happened: given up on, its outcome is unknown.
  if (held.state === 'in_progress' && steps.some(({ state }) => state === 'started')) {
    await engine.store.markUnknown(held, { askAfterMs: canAskAgain ? JITTER.capMs : null, needsAttention: true });
    becameUnknown(engine, held);
  } else {
    await engine.store.giveUp(held);
  }
  await engine.store.recordEvent(held.id, { type: 'gave_up', actor: 'executor', detail: null });
}

function maxAttempts<Tx>({ options }: Left<Tx>): number {
  return options.maxAttempts ?? MAX_ATTEMPTS;
}

/** Ends the run: the outcome of a foreign call cannot be learned now (S4). It is asked about later, or by a person. */
export async function becomeUnknown<Tx>(running: Running<Tx>, step: string): Promise<never> {
  const { engine, held, canAskAgain } = running;
  const row = await engine.store.markUnknown(held, {
    askAfterMs: canAskAgain ? recordedPauseMs(held.attempts) : null,
    needsAttention: !canAskAgain || held.attempts >= maxAttempts(running),
  });
  becameUnknown(engine, held);
  await engine.store.recordEvent(held.id, { type: 'unknown', actor: 'executor', detail: { step } });
  return endRun(running, { row });
}

function becameUnknown<Tx>({ config }: Left<Tx>['engine'], { id, state, attempts }: Left<Tx>['held']): void {
  transitioned(config, id, { from: state, to: 'unknown', attempt: attempts });
}
