import { LeaseLostError } from '../../core/errors.ts';
import type { LateAnswer } from '../../store/leases.ts';
import { encodeStep } from '../answer.ts';
import { recordTransition } from '../transition.ts';
import { type ForeignCall, versionOf } from './foreign-call.ts';
import { type PhasesRun, reach, reportError } from './run.ts';
import { finish } from './steps.ts';

/** Stores what the call came to as its step's result, and returns it as a later run would read it. */
export async function recordResult<Tx, A, R>(
  running: PhasesRun<Tx>,
  { name, position, call }: { readonly name: string; readonly position: number; readonly call: ForeignCall<A, R> },
  found: R,
): Promise<R> {
  const { store, config } = running.engine;
  const result = encodeStep(found, call.version);
  const { id, state } = running.held;
  await recordAnswer(running, { step: name, isResult: true }, async () => {
    if (state === 'unknown') {
      await resumeUnknown(running, { name, result });
      await store.recordEvent(id, { type: 'resolved', actor: 'completer', detail: { step: name } });
    } else {
      await store.finishForeign(running.held, config.leaseMs, { name, position, result });
    }
  });
  running.hasProgressed = true;
  await reach(running, 'after-recorded', name);
  return finish<Tx, R>(running, name, result, versionOf(call, 'result'), call);
}

type Heard = Omit<LateAnswer, 'token'>;

/** Writes down what the provider has said. Where the lease is lost it must not be lost: whoever has the key is told (S4). */
export async function recordAnswer<Tx>(
  running: PhasesRun<Tx>,
  answer: Heard,
  write: () => Promise<void>,
): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (error instanceof LeaseLostError) await recordLateAnswer(running, answer);
    throw error;
  }
}

/** Notes that a send was answered when nobody waited for it any more: whoever asks next finds it. */
export function noteLateAnswer<Tx>(running: PhasesRun<Tx>, answer: Heard): void {
  void recordLateAnswer(running, answer).catch((error) => reportError(running, error));
}

async function recordLateAnswer<Tx>({ engine: { store }, held }: PhasesRun<Tx>, answer: Heard): Promise<void> {
  await store.recordLateAnswer(held.id, { ...answer, token: held.fencingToken });
}

/** Leads a key from `unknown` back to work, under a higher token (S4). */
export async function resumeUnknown<Tx>(
  running: PhasesRun<Tx>,
  step: { name: string; result: string | null },
): Promise<void> {
  const { store, config } = running.engine;
  running.held = await store.resolve(running.held, config.leaseMs, step);
  const { id, attempts } = running.held;
  recordTransition(config, id, { from: 'unknown', to: 'in_progress', attempt: attempts });
}
