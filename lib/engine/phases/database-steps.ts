import { CodedError, ConfigurationError } from '../../core/errors.ts';
import { upcastData } from '../../core/older-data.ts';
import type { Write } from '../../store/leases.ts';
import { type Answer, decodeAnswer, encodeAnswer, encodeStep } from '../answer.ts';
import { type RefusalAnswer, runToEnd } from '../handler.ts';
import { keptRefusal, unkeptResponse } from '../kept.ts';
import type { StepVersion } from './context.ts';
import type { Compensation } from './journal.ts';
import { assertGoesOn, beginStep, endRun, inStepSpan, type PhasesRun, reportError, runStep } from './run.ts';
import type { Phase } from './run-transaction.ts';

/** `atomic`: see `PhasesContext`. */
export async function atomic<Tx, R>(
  running: PhasesRun<Tx>,
  name: string,
  run: (tx: Tx) => Promise<R>,
  version?: StepVersion,
): Promise<R> {
  return await runStep(running, name, 'atomic', async ({ position, stored }) => {
    if (stored) return finishStep<Tx, R>(running, name, stored.result, version);
    await beginStep(running);
    let result: string | null = null;
    const phase: Phase<Tx> = async (tx) => {
      const ended = await runToEnd(run, tx);
      if (ended.kind === 'refusal') return await refuseIn(running, tx, keptRefusal(ended, keepingOf(running)));
      if (ended.kind === 'redirect') throw redirectInside(name);
      if (ended.data instanceof Response) {
        // Behind a foreign call a Response that says no would be no answer: the key goes on.
        if (ended.isThrown && running.journal.executed === false) throw unkeptResponse(ended.data);
        const words = `${name} has answered with a Response. Return it from the function, not from a step.`;
        const existing = ended.isThrown ? 'a thrown Response' : 'a Response';
        throw new ConfigurationError(words, { existing, expected: 'plain data, `fail` or `defer`' });
      }
      result = encodeStep(`result of ${name}`, ended.data, version?.version);
      return { step: { name, position, kind: 'atomic', result } };
    };
    return await inStepSpan(running, 'atomic', name, async () => {
      const end = await running.transaction.runPhase(phase);
      if (end) endRun(running, end);
      // Decoded from the row, not taken from the function: a later run gets the same, to the letter.
      return finishStep<Tx, R>(running, name, result, version);
    });
  });
}

/** `capture`: see `PhasesContext`. */
export async function capture<Tx, T>(
  running: PhasesRun<Tx>,
  name: string,
  make: () => T | Promise<T>,
  version?: StepVersion,
): Promise<T> {
  return await runStep(running, name, 'capture', async ({ position, stored }) => {
    if (stored) return finishStep<Tx, T>(running, name, stored.result, version);
    if (running.transaction.backgroundCommit) await running.transaction.backgroundCommit;
    assertGoesOn(running);
    const result = encodeStep(`result of ${name}`, await make(), version?.version);
    await beginStep(running); // it may have taken longer than the run
    const { transaction, engine, held } = running;
    const step = { name, position, result };
    if (!transaction.addCapture(step)) await engine.store.recordCapture(held, engine.config.leaseMs, step);
    return finishStep<Tx, T>(running, name, result, version);
  });
}

/** The result of a step, which what comes behind it may ask for. `call`: the step's, where it is a foreign one. */
export function finishStep<Tx, R>(
  { journal, transaction }: PhasesRun<Tx>,
  name: string,
  result: string | null,
  version: StepVersion | undefined,
  call?: Compensation<R>,
): R {
  const read = () => readStored<R>(`result of ${name}`, result, version);
  const value = read();
  transaction.given.push(value);
  journal.finish(name, read, call);
  return value;
}

/** Which answers of a run are kept: all of them, once a foreign call of it may have been done. */
export function keepingOf<Tx>(running: PhasesRun<Tx>): Parameters<typeof keptRefusal>[1] {
  const { options, journal } = running;
  return { options, onKept: journal.executed === false ? undefined : (error) => reportError(running, error) };
}

/**
 * Stores a refusal with what `onRefused` undoes, and settles the key. Where that leaves a foreign call
 * uncompensated, the key is flagged for a person, and what is stored of the call stays.
 */
export async function refuseIn<Tx>(running: PhasesRun<Tx>, tx: Tx, answer: RefusalAnswer): Promise<Write> {
  const { options, held, input, journal, method } = running;
  const { key, ...scope } = held.id;
  const { reason, data } = answer;
  const known = held.steps.filter(({ state }) => state === 'done').map(({ name, result }) => [name, readStep(result)]);
  const steps = { ...Object.fromEntries(known), ...journal.results() };
  await options.onRefused?.(tx, { reason, data, input, key, scope, steps });
  const { uncompensated, executed: left } = journal.left((error) => reportError(running, error));
  const why = `It was refused (${reason}), and no other call has compensated: ${uncompensated.join(', ')}.`;
  const executed = (left === false && answer.executed) || left;
  const result = encodeAnswer({ ...answer, executed }, method);
  const settle = { state: 'failed' as const, result, schemaVersion: options.schemaVersion ?? 1 };
  return { settle: uncompensated.length > 0 ? { ...settle, uncompensated: { steps: uncompensated, why } } : settle };
}

/** Reads what this run itself has made. */
export function readStep<R>(result: string | null): R {
  return (decodeAnswer(result) as Extract<Answer, { kind: 'data' }>).data as R;
}

/**
 * Reads what an earlier run has stored of a step, led to this deploy's version.
 *
 * @param what for the errors: `result of order_created`
 * @throws CodedError `unavailable` for that of a newer deploy: another instance will know (R3). `phase_mismatch` where an upcast
 *   is missing, or throws
 */
export function readStored<R>(what: string, text: string | null, { version = 1, upcasts = {} }: StepVersion = {}): R {
  const { data, version: from = 1 } = decodeAnswer(text) as { data: unknown; version?: number };
  if (from > version) {
    const words = `A newer deploy has stored the ${what}, and its instances go on. If you have taken it back, deploy it again.`;
    throw new CodedError('unavailable', words, { existing: `version ${from}`, expected: `at most ${version}` });
  }
  return upcastData(data, { from, to: version, upcasts }, (older, thrown) => {
    const why = thrown ? `\`upcasts[${older}]\` threw. Mend it` : `there is no \`upcasts[${older}]\`. Add it`;
    const words = `An older deploy has stored the ${what}, and ${why}, or bring the old code back.`;
    const facts = { existing: `version ${older}`, expected: `an upcast to version ${older + 1}`, ...thrown };
    return new CodedError('phase_mismatch', words, facts);
  }) as R;
}

export function redirectInside(step: string): ConfigurationError {
  return new ConfigurationError(
    `redirect() was called inside the step ${step}, which it would undo. Return from the step, and redirect behind it.`,
    { existing: 'a redirect inside a step', expected: 'a redirect behind the last step' },
  );
}
