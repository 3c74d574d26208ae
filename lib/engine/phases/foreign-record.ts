import { LeaseLostError } from '../../core/errors.ts';
import { derivedKey } from '../../core/key.ts';
import { returned } from '../../core/options.ts';
import { assertStorableName } from '../../core/scope.ts';
import { seal } from '../../core/seal.ts';
import type { LateAnswer } from '../../store/evidence.ts';
import type { FinishedCall, ForeignStart, HeldKey, Leases, Step } from '../../store/leases.ts';
import { encodeStep } from '../answer.ts';
import { ensureReplicated } from '../durability.ts';
import { recordTransition } from '../instrumentation.ts';
import { errorName } from '../log.ts';
import { type ForeignCall, versionOfPart } from './context.ts';
import { finishStep } from './database-steps.ts';
import { assertGoesOn, type PhasesRun, reach, reportError } from './run.ts';

/** A foreign call as a step of its run. */
export interface ForeignStep<A, R> {
  readonly name: string;
  readonly position: number;
  readonly call: ForeignCall<A, R>;
}

/**
 * Writes down what is about to be sent (P2), under the token. Whoever finds the row knows that it may have happened.
 *
 * @param sendable the arguments as they are sent: the app may change its own object meanwhile
 * @returns `readAt`: when that was, in milliseconds of `performance.now()`, from which the ages of `stored` count
 */
export async function recordStart<Tx, A, R>(
  running: PhasesRun<Tx>,
  { name, position, call }: ForeignStep<A, R>,
  sendable: A,
) {
  assertGoesOn(running); // the circuit breaker may have kept it waiting
  const { engine, transaction, deadline } = running;
  const { store, config } = engine;
  if (running.held.state === 'unknown') await resumeUnknown(running, { name, result: null });
  await reach(running, 'before-started', name);
  const { held } = running;
  const what = `arguments of ${name}`;
  const start: ForeignStart = {
    name,
    position,
    arguments: seal(encodeStep(what, sendable, call.version), what, held.id, config.secrets),
    derivedKey: derivedKey(config.namespace, held.id, name),
    providerKeyTtlMs: call.providerKeyTtlMs,
  };
  const readAt = performance.now();
  assertGoesOn(running); // where nobody awaits it, the run may have ended meanwhile
  // With the end of the phase before it: what is sent behind COMMIT is known to be sent, as by itself.
  const isCommitted = await transaction.commit(start);
  const stored = isCommitted ? firstSend(held, start) : await store.startForeign(held, config.leaseMs, start);
  // Sent without it, the call would be known to the provider alone after a failover.
  if (!isCommitted) await ensureReplicated({ engine, definition: running, deadline });
  await reach(running, 'after-started', name);
  return { stored, readAt };
}

/** A call that is about to be sent, as it was written down. */
export type StartedCall = Readonly<Awaited<ReturnType<typeof recordStart>>>;

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
    amount: null,
    knownBy: null,
  };
}

/** Stores what the call came to as its step's result, and returns it as a later run would read it. */
export async function recordResult<Tx, A, R>(
  running: PhasesRun<Tx>,
  { name, position, call }: ForeignStep<A, R>,
  found: { result: R } & Pick<FinishedCall, 'knownBy'>,
): Promise<R> {
  const { store, config } = running.engine;
  const result = encodeStep(`result of ${name}`, found.result, call.version);
  const receipt = receiptOf(running, name, () => call.receipt?.(found.result));
  const step = { name, position, result, knownBy: found.knownBy, ...receipt };
  const { id, state } = running.held;
  await recordAnswer(running, { step: name, isResult: true, ...receipt }, async () => {
    if (state === 'unknown') {
      await resumeUnknown(running, step);
      await store.recordEvent(id, { type: 'resolved', actor: 'completer', detail: { step: name } });
    } else {
      await store.finishForeign(running.held, config.leaseMs, step);
    }
  });
  running.hasFinishedCall = true;
  await reach(running, 'after-recorded', name);
  return finishStep<Tx, R>(running, name, result, versionOfPart(call, 'result'), call);
}

/** What is kept of a result. The call is done: what cannot be kept is reported, and neither loses the result nor has the call repeated. */
function receiptOf<Tx>(
  running: PhasesRun<Tx>,
  name: string,
  read: () => Pick<FinishedCall, 'reference' | 'amount'> | undefined,
) {
  try {
    const receipt = returned<ReturnType<typeof read>>(`receipt of ${name}`, read());
    if (receipt === undefined) return undefined;
    const { reference, amount } = receipt;
    const unkept = (what: string) => `The ${what} that \`receipt\` of ${name} gives cannot be kept.`;
    assertStorableName(reference, 255, unkept('reference'));
    if (amount !== undefined) assertStorableName(amount, 100, unkept('amount'));
    return { reference, amount };
  } catch (error) {
    reportError(running, error);
    return undefined;
  }
}

type ProviderAnswer = Omit<LateAnswer, 'token'>;

/** Writes down what the provider has said. Where the lease is lost it must not be lost: whoever has the key is told (S4). */
export async function recordAnswer<Tx>(
  running: PhasesRun<Tx>,
  answer: ProviderAnswer,
  write: () => Promise<void>,
): Promise<void> {
  await write().catch(async (error) => {
    if (error instanceof LeaseLostError) await recordLateAnswer(running, answer);
    throw error;
  });
}

/** Notes that a send was answered when nobody waited for it any more, by its result or a refusal: whoever asks next finds it. */
export function noteLateAnswer<Tx, A, R>(
  running: PhasesRun<Tx>,
  { name, call }: ForeignStep<A, R>,
  found: { result: R } | undefined,
): void {
  const receipt = found && receiptOf(running, name, () => call.receipt?.(found.result));
  const answer = { step: name, isResult: found !== undefined, ...receipt };
  void recordLateAnswer(running, answer).catch((error) => reportError(running, error));
}

async function recordLateAnswer<Tx>({ engine: { store }, held }: PhasesRun<Tx>, answer: ProviderAnswer): Promise<void> {
  await store.recordLateAnswer(held.id, { ...answer, token: held.fencingToken });
}

/** The error of a send, or of a look-up. */
export interface CallFailure {
  of: 'send' | 'lookup';
  error: unknown;
}

/** Records for whoever looks at the key what its call has failed with: once each, by its name, for a message may hold what was sent. */
export async function recordCallFailure<Tx>(
  { engine, held }: PhasesRun<Tx>,
  step: string,
  failure: CallFailure,
): Promise<void> {
  const { operation, key } = held.id;
  const detail = { step, of: failure.of, error: errorName(failure.error) };
  await engine.store
    .recordEvent(held.id, { type: 'call_failed', actor: 'executor', detail })
    .catch((error) => engine.config.onError(error, { operation, key, during: 'database' }));
}

/** Leads a key from `unknown` back to work, under a higher token (S4). */
async function resumeUnknown<Tx>(running: PhasesRun<Tx>, step: Parameters<Leases<Tx>['resolve']>[2]): Promise<void> {
  const { store, config } = running.engine;
  running.held = await store.resolve(running.held, config.leaseMs, step);
  const { id, attempts } = running.held;
  recordTransition(config, id, { from: 'unknown', to: 'in_progress', attempt: attempts });
}
