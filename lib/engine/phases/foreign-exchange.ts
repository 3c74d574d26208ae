import type { Health } from '../../core/circuit-breaker.ts';
import { CodedError, ConfigurationError } from '../../core/errors.ts';
import type { Answered } from '../../core/foreign.ts';
import { isControlFlow } from '../../core/redirect.ts';
import { unseal } from '../../core/seal.ts';
import { shapeDifference } from '../../core/shape.ts';
import { untilAborted } from '../../core/wait.ts';
import type { Step } from '../../store/leases.ts';
import { encodeAnswer, encodeStep } from '../answer.ts';
import { isRefusalStatus, type RefusalAnswer, refusalAnswer } from '../handler.ts';
import { retentionOf } from '../thing.ts';
import { timeLeft } from '../transaction.ts';
import { isCircuitOpen } from './circuit-breakers.ts';
import {
  assertForeignCall,
  type ForeignCall,
  type ForeignRequest,
  type ForeignVerdict,
  versionOf,
} from './foreign-call.ts';
import { type ForeignState, noteLateAnswer, start } from './foreign-record.ts';
import { type PhasesRun, reach, reportError } from './run.ts';
import { readStep, readStored, redirectInside } from './steps.ts';

/** The result of one send or one look-up. */
export type Reply<R> =
  | { kind: 'result'; result: R }
  | { kind: 'refused'; refusal: RefusalAnswer }
  | { kind: 'answered'; answer: Answered }
  | { kind: 'failed'; verdict: Exclude<ForeignVerdict, object>; error: unknown }
  | { kind: 'nothing' };

const TIMEOUT_MS = 10_000;
/** How many characters are kept of a refusal's words where they are too many to be stored. */
const MAX_MESSAGE = 1000;
/** The part of the run's time that a call leaves, so that its answer can still be written down (H4). */
const MARGIN = { share: 0.1, mostMs: 250 };

/** Sends the stored arguments, once it is written down that they are about to be sent. */
export async function send<Tx, A, R>(running: PhasesRun<Tx>, talk: ForeignState<A, R>): Promise<Reply<R>> {
  const { breakers } = running.engine;
  const { call, name } = talk;
  // Before anything is written: what cannot be sent is not counted as sent.
  assertForeignCall(name, call, retentionOf(running.options, running.engine.config.phasesRetentionMs));
  const stored = argumentsOf(running, talk);
  try {
    // The row is written inside the breaker: while the circuit is open nothing is begun, and nothing can be in doubt.
    const sendIt = async () => {
      const step = await start(running, talk);
      return await sendInTime(running, talk, step, stored).catch((error) => {
        throw new JudgedError(error, judge(running, call, error));
      });
    };
    const result = await breakers.run(call.dependency, sendIt, (error) => {
      // Ours: the row could not be written.
      if (!(error instanceof JudgedError)) return 'unsaid';
      // A declined card is an answer: it says nothing against the system that gave it.
      return error.verdict === 'indeterminate' ? healthAfterSilence(running) : 'up';
    });
    await reach(running, 'after-answer', name);
    return { kind: 'result', result };
  } catch (error) {
    if (isCircuitOpen(error)) return { kind: 'failed', verdict: 'not_executed', error };
    if (!(error instanceof JudgedError)) throw error;
    if (isControlFlow(error.error)) throw redirectInside(name);
    await reach(running, 'after-answer', name);
    const { verdict } = error;
    return typeof verdict === 'object'
      ? { kind: 'refused', refusal: storableRefusal(running, verdict) }
      : { kind: 'failed', verdict, error: error.error };
  }
}

/** Sends it, and hears the answer also when nobody waits for it any more. */
async function sendInTime<Tx, A, R>(
  running: PhasesRun<Tx>,
  talk: ForeignState<A, R>,
  step: Step,
  stored: A,
): Promise<R> {
  const { call, name } = talk;
  let isAwaited = true;
  const sendHeard = async (request: ForeignRequest) => {
    talk.openSends++;
    try {
      const result = await call.send(stored, request);
      if (!isAwaited && talk.isOver) noteLateAnswer(running, { step: name, isResult: true });
      else if (!isAwaited) talk.late = { result };
      return result;
    } catch (error) {
      if (!isAwaited && typeof judge(running, call, error) === 'object') {
        noteLateAnswer(running, { step: name, isResult: false });
      }
      throw error;
    } finally {
      talk.openSends--;
      talk.endedAt = performance.now();
    }
  };
  return await inTime(running, call, step, sendHeard).finally(() => {
    isAwaited = false;
  });
}

/** A final answer as it is stored. What cannot be stored of it is left out, and reported: it must not be lost. */
function storableRefusal<Tx>(running: PhasesRun<Tx>, said: Exclude<ForeignVerdict, string>): RefusalAnswer {
  const { refuse, data, status, message } = said;
  try {
    const refusal = refusalAnswer(refuse, data, said);
    encodeAnswer(refusal);
    return refusal;
  } catch (error) {
    reportError(running, error);
    const short = typeof message === 'string' ? { message: message.slice(0, MAX_MESSAGE) } : {};
    return refusalAnswer(
      refuse.slice(0, MAX_MESSAGE),
      undefined,
      isRefusalStatus(status) ? { status, ...short } : short,
    );
  }
}

/** Asks the provider. An answer that cannot be had teaches nothing. */
export async function lookUp<Tx, A, R>(running: PhasesRun<Tx>, talk: ForeignState<A, R>): Promise<Reply<R>> {
  const { call, stored: step } = talk;
  const { lookup } = call;
  if (!lookup || !step) return { kind: 'nothing' };
  const stored = argumentsOf(running, talk);
  try {
    const looked = await running.engine.breakers.run(
      call.dependency,
      () => inTime(running, call, step, (request) => lookup.call(call, stored, request)),
      () => healthAfterSilence(running),
    );
    return typeof looked === 'string' ? { kind: 'answered', answer: looked } : { kind: 'result', result: looked.found };
  } catch (error) {
    return { kind: 'failed', verdict: 'indeterminate', error };
  }
}

/** The result that a person's reference stands for; undefined where only a look-up can make one. */
export async function readReference<Tx, A, R>(
  running: PhasesRun<Tx>,
  call: ForeignCall<A, R>,
  step: Step,
): Promise<{ result: R } | undefined> {
  const { fromReference } = call;
  if (!fromReference) return undefined;
  const reference = step.reference ?? '';
  return { result: await inTime(running, call, step, (request) => fromReference.call(call, reference, request)) };
}

/** An error of `send`, with what it proves. */
class JudgedError extends Error {
  readonly error: unknown;
  readonly verdict: ForeignVerdict;

  constructor(error: unknown, verdict: ForeignVerdict) {
    super('The send failed.');
    this.error = error;
    this.verdict = verdict;
  }
}

const WORDS: readonly unknown[] = ['indeterminate', 'not_executed', 'look_up'];

/** What an error proves: nothing, where the call's `judge` says nothing that can be believed, which is reported. */
function judge<Tx, A, R>(running: PhasesRun<Tx>, call: ForeignCall<A, R>, error: unknown): ForeignVerdict {
  try {
    const verdict = call.judge?.(error) ?? 'indeterminate';
    if (WORDS.includes(verdict) || (typeof verdict === 'object' && typeof verdict.refuse === 'string')) return verdict;
    throw new ConfigurationError('A `judge` has said what it cannot mean, so that the error proves nothing.', {
      existing: typeof verdict,
      expected: "'indeterminate', 'not_executed', 'look_up' or { refuse }, and no promise of one",
    });
  } catch (thrown) {
    reportError(running, thrown);
    return 'indeterminate';
  }
}

/** What a call without an answer says of its dependency: nothing where the caller's patience was short. */
function healthAfterSilence<Tx>({ signal, deadline }: PhasesRun<Tx>): Health {
  return signal.aborted || timeLeft(deadline) < 2 * MARGIN.mostMs ? 'unsaid' : 'down';
}

/** Ends with the time it may take, also when what it calls ignores its signal. */
async function inTime<Tx, A, R, T>(
  running: PhasesRun<Tx>,
  call: ForeignCall<A, R>,
  step: Step,
  run: (request: ForeignRequest) => Promise<T>,
): Promise<T> {
  const { signal, deadline } = running;
  const request = requestWith(step.derivedKey ?? '', { signal, timeoutMs: call.timeoutMs, leftMs: timeLeft(deadline) });
  return await untilAborted(request.signal, () => run(request));
}

/** Makes the request that a call is given. Its time is less than `leftMs`, so that what it comes to can still be written down. */
export function requestWith(
  idempotencyKey: string,
  { signal, timeoutMs = TIMEOUT_MS, leftMs }: { signal: AbortSignal; timeoutMs: number | undefined; leftMs: number },
): ForeignRequest {
  const margin = Math.min(MARGIN.mostMs, leftMs * MARGIN.share);
  const deadlineMs = Math.max(1, Math.floor(Math.min(timeoutMs, leftMs - margin)));
  const headers = {
    'Idempotency-Key': idempotencyKey,
    'X-Request-Timeout': String(deadlineMs),
    'X-Retry-Layer': 'none',
  };
  return { idempotencyKey, signal: AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]), deadlineMs, headers };
}

/**
 * The arguments as they are stored, led to this deploy's version; before they are, its own.
 *
 * @throws CodedError as `readStored` does, and `phase_mismatch` where they lack what this deploy's have: `send` reads it
 */
function argumentsOf<Tx, A, R>({ engine, held }: PhasesRun<Tx>, { name, call, stored }: ForeignState<A, R>): A {
  const own = readStep<A>(encodeStep(call.arguments, call.version));
  if (!stored) return own;
  if (!stored.arguments) throw new CodedError('internal', `The arguments of ${name} were erased.`);
  const text = unseal(stored.arguments, `arguments of ${name}`, held.id, engine.config.secrets);
  // As it would be had it been stored so: an upcast may make what is stored as something else.
  const led = readStep<A>(encodeStep(readStored(`arguments of ${name}`, text, versionOf(call, 'arguments'))));
  const difference = shapeDifference(led, own);
  if (!difference) return led;
  const { path, existing, expected } = difference;
  throw new CodedError(
    'phase_mismatch',
    `The stored arguments of ${name} have another shape than those that this code gives, at arguments${path}. ` +
      'Raise its `version` and lead them up by `upcasts`, or bring the old code back.',
    { existing, expected },
  );
}
