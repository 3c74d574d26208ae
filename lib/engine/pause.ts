import { fullJitter } from '../core/backoff.ts';
import { endRun, type Running } from './running.ts';

/** How often an unfinished key is taken up before it waits for a person. */
const MAX_ATTEMPTS = 30;
const JITTER = { baseMs: 1000, capMs: 60_000 };
const LEAST_MS = 250;

/** How long the completer leaves a key alone that could not be finished. */
function pauseMs(attempts: number): number {
  return LEAST_MS + fullJitter(attempts, JITTER, Math.random());
}

/** Lets go of a key whose run threw: it goes on after a pause, or waits for a person where that has happened too often. */
export async function letGo<Tx>(running: Running<Tx>): Promise<void> {
  const { engine, held, options } = running;
  if (held.attempts < (options.maxAttempts ?? MAX_ATTEMPTS)) {
    return await engine.store.suspend(held, pauseMs(held.attempts));
  }
  // A call that was begun may have happened: given up on, its outcome is unknown.
  const steps = await engine.store.steps(held.id);
  if (held.state === 'in_progress' && steps.some(({ state }) => state === 'started')) {
    const askAfterMs = running.canAskAgain ? JITTER.capMs : null;
    await engine.store.markUnknown(held, { askAfterMs, needsAttention: true });
  } else {
    await engine.store.giveUp(held);
  }
  await engine.store.recordEvent(held.id, { type: 'gave_up', actor: 'executor', detail: null });
}

/** Ends the run: the outcome of a foreign call cannot be learned now (S4). It is asked about later, or by a person. */
export async function becomeUnknown<Tx>(running: Running<Tx>, step: string): Promise<never> {
  const { engine, held, options, canAskAgain } = running;
  const isTooOften = held.attempts >= (options.maxAttempts ?? MAX_ATTEMPTS);
  const row = await engine.store.markUnknown(held, {
    askAfterMs: canAskAgain ? pauseMs(held.attempts) : null,
    needsAttention: !canAskAgain || isTooOften,
  });
  await engine.store.recordEvent(held.id, { type: 'unknown', actor: 'executor', detail: { step } });
  return endRun(running, { row });
}
