import { CodedError, ConfigurationError } from '../core/errors.ts';
import type { Transacted, Write } from '../store/leases.ts';
import { type Answer, decodeAnswer, encodeAnswer } from './answer.ts';
import { answerOf } from './handler.ts';
import { assertGoesOn, endRun, enterStep, type Running, reach } from './running.ts';
import { inStepSpan } from './step-span.ts';
import { mayTryAgain, withinTime } from './transaction.ts';
import { transitioned } from './transition.ts';

/** `atomic`: see `PhasesContext`. */
export async function atomic<Tx, R>(running: Running<Tx>, name: string, run: (tx: Tx) => Promise<R>): Promise<R> {
  const { position, stored } = enterStep(running, name, 'atomic');
  try {
    if (stored) return readStep<R>(stored.result);
    assertGoesOn(running);
    const phase = async (tx: Tx): Promise<Write> => {
      const answer = await answerOf(() => run(tx));
      if (answer.kind === 'refusal') return await refuseIn(running, tx, answer);
      if (answer.kind === 'redirect') throw redirectInside(name);
      if (answer.kind === 'response') {
        throw new ConfigurationError(`${name} returned a Response. Return it from the function, not from a step.`, {
          existing: 'a Response',
          expected: 'plain data',
        });
      }
      return { step: { name, position, result: encodeAnswer(answer) } };
    };
    return await inStepSpan(running, 'atomic', name, async () => {
      const { write, row } = await transactPatiently(running, phase, name);
      if (row) endRun(running, { row });
      running.hasProgressed = true;
      await reach(running, 'after-commit', name);
      // What was stored, not what the function holds: a later run gets the same, to the letter.
      return readStep<R>('step' in write ? write.step.result : null);
    });
  } catch (error) {
    return endRun(running, { error });
  } finally {
    running.journal.leave();
  }
}

/** `capture`: see `PhasesContext`. */
export async function capture<Tx, T>(running: Running<Tx>, name: string, make: () => T | Promise<T>): Promise<T> {
  const { position, stored } = enterStep(running, name, 'capture');
  try {
    if (stored) return readStep<T>(stored.result);
    assertGoesOn(running);
    const result = writeStep(await make());
    assertGoesOn(running); // it may have taken longer than the run
    const { store, config } = running.engine;
    await store.recordCapture(running.held, config.leaseMs, { name, position, result });
    return readStep<T>(result);
  } catch (error) {
    return endRun(running, { error });
  } finally {
    running.journal.leave();
  }
}

/** Stores a refusal with what `onRefused` undoes, and settles the key. */
export async function refuseIn<Tx>(
  { options, held, input }: Running<Tx>,
  tx: Tx,
  answer: Extract<Answer, { kind: 'refusal' }>,
): Promise<Write> {
  const { tenant, principal, operation, key } = held.id;
  const scope = { tenant, principal, operation };
  await options.onRefused?.(tx, { reason: answer.reason, data: answer.data, input, key, scope });
  return { settle: { state: 'failed', result: encodeAnswer(answer), schemaVersion: options.schemaVersion ?? 1 } };
}

/** One transaction of this run, again where it conflicts with others (C4). */
export async function transactPatiently<Tx>(
  running: Running<Tx>,
  run: (tx: Tx) => Promise<Write>,
  step?: string,
): Promise<{ write: Write; row: Extract<Transacted, { kind: 'committed' }>['row'] }> {
  const { store, config } = running.engine;
  const how = {
    ...withinTime(running.options, running.deadline),
    beforeCommit: () => reach(running, 'before-commit', step),
  };
  for (let attempt = 1; ; attempt++) {
    let write: Write | undefined;
    running.inTransaction = true;
    const transacted = await store
      .transact(
        running.held,
        config.leaseMs,
        async (tx) => {
          write = await run(tx);
          return write;
        },
        how,
      )
      .finally(() => {
        running.inTransaction = false;
      });
    if (transacted.kind === 'committed' && write) {
      const { row } = transacted;
      if (row) {
        const { state: to, attempts: attempt, fingerprint } = row;
        transitioned(config, row, { from: running.held.state, to, attempt, fingerprint });
      }
      return { write, row };
    }
    const error = 'error' in transacted ? transacted.error : undefined;
    const isConflict = transacted.kind === 'rolled_back' && transacted.why === 'conflict';
    if (isConflict && running.innerRetries && (await mayTryAgain(attempt, running.deadline))) continue;
    if (transacted.kind === 'rolled_back' && transacted.why === 'error') throw error;
    throw new CodedError(
      'unavailable',
      'The database did not answer, or others were in the way; a later run goes on.',
      {
        cause: error,
      },
    );
  }
}

export function writeStep(value: unknown): string {
  return encodeAnswer({ kind: 'data', data: value });
}

export function readStep<R>(result: string | null): R {
  return (decodeAnswer(result) as Extract<Answer, { kind: 'data' }>).data as R;
}

export function redirectInside(step: string): ConfigurationError {
  return new ConfigurationError(
    `redirect() was called inside the step ${step}, which it would undo. Return from the step, and redirect behind it.`,
    { existing: 'a redirect inside a step', expected: 'a redirect behind the last step' },
  );
}
