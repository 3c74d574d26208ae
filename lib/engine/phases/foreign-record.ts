import { derivedKey } from '../../core/derived-key.ts';
import { LeaseLostError } from '../../core/errors.ts';
import type { Answered } from '../../core/foreign.ts';
import { seal } from '../../core/seal.ts';
import type { ForeignStart, HeldKey, LateAnswer, Step } from '../../store/leases.ts';
import { encodeStep } from '../answer.ts';
import { ensureReplicated } from '../durability.ts';
import type { RefusalAnswer } from '../handler.ts';
import { recordTransition } from '../instrumentation.ts';
import { type ForeignCall, versionOf } from './foreign-call.ts';
import { assertGoesOn, type PhasesRun, reach, reportError } from './run.ts';
import { commitOpen } from './run-transaction.ts';
import { finish } from './steps.ts';

/** The knowledge of one foreign call while it is being settled. */
export interface ForeignState<A, R> {
  readonly name: string;
  readonly position: number;
  readonly call: ForeignCall<A, R>;
  stored: Step | undefined;
  /** When `stored` was read, in milliseconds of `performance.now()`: its ages count from there. */
  readAt: number;
  /** True if this run has sent it. */
  hasSent: boolean;
  /** True if some send may have arrived. */
  mayBeDone: boolean;
  /** True if an executor before this run may have sent it. */
  tookOver: boolean;
  /** How many sends of this run have not ended, in time or later. */
  openSends: number;
  /** When the last of those that ended did so, in milliseconds of `performance.now()`: what it did may be as young as that. */
  endedAt: number;
  /** What one of them came to when nobody waited for it any more. */
  late: { result: R } | undefined;
  /** True once nobody looks at `late`. */
  isOver: boolean;
  verdict: 'succeeded' | 'retry' | undefined;
  /** The answer of the last send that was final, for the whole intent. */
  refusal: RefusalAnswer | undefined;
  mustLookUp: boolean;
  answered: Answered | undefined;
}

/** Writes down what is about to be sent (P2), under the token. Whoever finds the row knows that it may have happened. */
export async function start<Tx, A, R>(running: PhasesRun<Tx>, talk: ForeignState<A, R>): Promise<Step> {
  assertGoesOn(running); // the circuit breaker may have kept it waiting
  const { store, config } = running.engine;
  const { name, position, call } = talk;
  if (running.held.state === 'unknown') {
    await resumeUnknown(running, { name, result: null });
  }
  await reach(running, 'before-started', name);
  const { id } = running.held;
  const sealed = seal(encodeStep(call.arguments, call.version), `arguments of ${name}`, id, config.secrets);
  const begun = {
    name,
    position,
    arguments: sealed,
    derivedKey: derivedKey(config.namespace, id, name),
    providerKeyTtlMs: call.providerKeyTtlMs,
  };
  talk.readAt = performance.now();
  if (running.transaction) {
    // With the end of the phase before it: what is sent behind COMMIT is known to be sent, as by itself.
    await commitOpen(running, { start: begun });
    talk.stored = firstSend(running.held, begun);
  } else {
    talk.stored = await store.startForeign(running.held, config.leaseMs, begun);
    // Sent without it, the call would be known to the provider alone after a failover.
    await ensureReplicated({ engine: running.engine, definition: running, deadline: running.deadline });
  }
  if (talk.verdict) {
    // A person has vouched for the sends before this one.
    talk.mayBeDone = false;
    talk.tookOver = false;
    talk.verdict = undefined;
  }
  talk.answered = undefined;
  talk.mustLookUp = false;
  talk.refusal = undefined;
  await reach(running, 'after-started', name);
  return talk.stored;
}

/** The step as it was written down: its first send. */
function firstSend({ fencingToken }: HeldKey, { providerKeyTtlMs, ...begun }: ForeignStart): Step {
  return {
    ...begun,
    kind: 'foreign',
    state: 'started',
    result: null,
    fencingToken,
    sends: 1,
    notExecuted: 0,
    sinceFirstSentMs: 0,
    sinceLastSentMs: 0,
    rememberedForMs: providerKeyTtlMs || null,
    firstSentAt: null,
    finishedAt: null,
    verdict: null,
    reference: null,
  };
}

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
