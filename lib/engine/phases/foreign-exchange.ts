import type { Health } from '../../core/circuit-breaker.ts';
import { CodedError, isSetUpWrongly } from '../../core/errors.ts';
import type { Answered } from '../../core/foreign.ts';
import { shapeDifference } from '../../core/older-data.ts';
import { returned } from '../../core/options.ts';
import { isControlFlow } from '../../core/redirect.ts';
import { unseal } from '../../core/seal.ts';
import { untilAborted } from '../../core/wait.ts';
import type { Step } from '../../store/leases.ts';
import { encodeAnswer, encodeStep } from '../answer.ts';
import { timeLeft } from '../deadline.ts';
import { isFinal, isRefusalStatus, type RefusalAnswer, refusalAnswer } from '../handler.ts';
import { retentionOf } from '../thing.ts';
import { isCircuitOpen } from './circuit-breakers.ts';
import { assertForeignCall, type ForeignRequest, type ForeignVerdict, versionOfPart } from './context.ts';
import { readStep, readStored, redirectInside } from './database-steps.ts';
import { type ForeignStep, noteLateAnswer, recordStart, type StartedCall } from './foreign-record.ts';
import { type PhasesRun, reach, reportError } from './run.ts';
import { isThrownVerdict } from './thrown-verdict.ts';

/** The result of one send or one look-up. */
export type ForeignReply<R> =
  | { kind: 'result'; result: R }
  | { kind: 'refused'; refusal: RefusalAnswer }
  | { kind: 'answered'; answer: Answered }
  | { kind: 'failed'; verdict: Exclude<ForeignVerdict, object>; error: unknown }
  | { kind: 'nothing' };

/** One send. `started` is undefined where an open circuit has kept it from being begun. */
interface SentCall<R> {
  started: StartedCall | undefined;
  reply: ForeignReply<R>;
}

const TIMEOUT_MS = 10_000;
/** How many characters are kept of a refusal's words where they are too many to be stored. */
const MAX_MESSAGE = 1000;
/** The part of the run's time that a call leaves, so that its answer can still be written down (H4). */
const MARGIN = { share: 0.1, mostMs: 250 };

/** What a run sends and asks of one foreign call. */
export class ForeignExchange<Tx, A, R> {
  readonly running: PhasesRun<Tx>;
  readonly step: ForeignStep<A, R>;
  /** How many sends of this run have not ended, in time or later. */
  openSends = 0;
  /** When the last of those that ended did so, in milliseconds of `performance.now()`: what it did may be as young as that. */
  endedAt = Number.NEGATIVE_INFINITY;
  /** The result of a send that nobody waited for any more. */
  lateResult: { result: R } | undefined;
  #isClosed = false;

  constructor(running: PhasesRun<Tx>, step: ForeignStep<A, R>) {
    this.running = running;
    this.step = step;
  }

  /** Sends the stored arguments, or those of a call that is yet to be begun, once it is written down that they are about to be. */
  async send(stored: Step | undefined): Promise<SentCall<R>> {
    const { call, name } = this.step;
    const { options, engine } = this.running;
    // Before anything is written: what cannot be sent is not counted as sent.
    assertForeignCall(name, call, retentionOf(options, engine.config.phasesRetentionMs));
    const sendable = this.#argumentsOf(stored);
    // The row is written inside the breaker: while the circuit is open nothing is begun, and nothing can be in doubt.
    const sendOnce = async (): Promise<SentCall<R>> => {
      const started = await recordStart(this.running, this.step, sendable);
      return { started, reply: await this.#sendInTime(started.stored, sendable) };
    };
    const healthOf = ({ reply }: SentCall<R>) => this.#healthBy(reply);
    const sent = await engine.breakers.run(call.dependency, sendOnce, healthOf).catch((error): SentCall<R> => {
      if (!isCircuitOpen(error)) throw error; // ours: the row could not be written
      return { started: undefined, reply: { kind: 'failed', verdict: 'not_executed', error } };
    });
    if (sent.started) await reach(this.running, 'after-answer', name);
    return sent;
  }

  /** Asks the provider. An answer that cannot be had teaches nothing. */
  async lookUp(stored: Step | undefined): Promise<ForeignReply<R>> {
    const { call, name } = this.step;
    const { lookup } = call;
    if (!lookup || !stored) return { kind: 'nothing' };
    const sent = this.#argumentsOf(stored);
    const ask = async (request: ForeignRequest) => readLookedUp<R>(name, await lookup.call(call, sent, request));
    const failed = (error: unknown) => ({ kind: 'failed', verdict: 'indeterminate', error }) as const;
    const answered = (read: Answered | { found: R }): ForeignReply<R> =>
      typeof read === 'string' ? { kind: 'answered', answer: read } : { kind: 'result', result: read.found };
    const lookUp = () => this.#inTime(stored, ask).then(answered, failed);
    const { breakers } = this.running.engine;
    return await breakers.run(call.dependency, lookUp, (reply) => this.#healthBy(reply)).catch(failed);
  }

  /**
   * The result that a reference stands for, a person's or the provider's own; undefined where only a look-up can make one, and where
   * the provider's own has made none. Throws where nothing can make one of a person's.
   */
  async readReference(stored: Step & { reference: string }): Promise<{ result: R } | undefined> {
    const { name, call } = this.step;
    const { fromReference, lookup } = call;
    const isByPerson = stored.verdict === 'succeeded';
    if (!fromReference && !lookup && isByPerson) {
      const what = 'a person says that it went through, and the call has neither `fromReference` nor `lookup`';
      throw new CodedError('internal', `${name}: ${what}. Give it one: its key is then finished by the next run.`);
    }
    if (!fromReference) return undefined;
    const read = (request: ForeignRequest) => fromReference.call(call, stored.reference, request);
    try {
      return { result: await this.#inTime(stored, read) };
    } catch (error) {
      if (!lookup && isByPerson) throw error;
      reportError(this.running, error);
      return undefined;
    }
  }

  /** The result of a send that was given up, where it has come meanwhile; once. */
  takeLateResult(): { result: R } | undefined {
    const { lateResult } = this;
    this.lateResult = undefined;
    return lateResult;
  }

  /** The run is over: whoever asks next finds the result of a send that it has given up, also one that is still to come. */
  close(): void {
    this.#isClosed = true;
    if (this.lateResult) this.#noteLate(this.lateResult);
  }

  /** Sends it, and takes the answer also when nobody waits for it any more. */
  async #sendInTime(step: Step, stored: A): Promise<ForeignReply<R>> {
    const { call, name } = this.step;
    let isAwaited = true;
    const sendCounted = async (request: ForeignRequest) => {
      this.openSends++;
      try {
        const result = await call.send(stored, request);
        if (!isAwaited && this.#isClosed) this.#noteLate({ result });
        else if (!isAwaited) this.lateResult = { result };
        return result;
      } catch (error) {
        if (!isAwaited && typeof this.#judge(error) === 'object') this.#noteLate(undefined);
        throw error;
      } finally {
        this.openSends--;
        this.endedAt = performance.now();
      }
    };
    const inTime = this.#inTime(step, sendCounted).finally(() => {
      isAwaited = false;
    });
    try {
      return { kind: 'result', result: await inTime };
    } catch (error) {
      if (isControlFlow(error)) throw redirectInside(name);
      const verdict = this.#judge(error);
      return typeof verdict === 'object'
        ? { kind: 'refused', refusal: storableRefusal(this.running, verdict) }
        : { kind: 'failed', verdict, error };
    }
  }

  #noteLate(found: { result: R } | undefined): void {
    noteLateAnswer(this.running, this.step, found);
  }

  /** What an error proves: nothing, where the call's `judge` says nothing that can be believed, which is reported. */
  #judge(error: unknown): ForeignVerdict {
    const isThrown = isThrownVerdict(error);
    try {
      const { name, call } = this.step;
      const expected = "'indeterminate', 'not_executed', 'look_up' or { refuse }";
      const said = isThrown ? error.verdict : call.judge ? call.judge(error) : 'indeterminate';
      return returned(`${isThrown ? 'send' : 'judge'} of ${name}`, said, isVerdict, expected);
    } catch (thrown) {
      reportError(this.running, thrown);
      return 'indeterminate';
    }
  }

  /** What a reply says of the dependency. A declined card is an answer; a caller's patience may have been short. */
  #healthBy(reply: ForeignReply<R>): Health {
    if (reply.kind !== 'failed' || reply.verdict !== 'indeterminate' || isSetUpWrongly(reply.error)) return 'up';
    const { signal, deadline } = this.running;
    return signal.aborted || timeLeft(deadline) < 2 * MARGIN.mostMs ? 'unsaid' : 'down';
  }

  /** Ends with the time it may take, also when what it calls ignores its signal. */
  async #inTime<T>(step: Step, run: (request: ForeignRequest) => Promise<T>): Promise<T> {
    const { signal, deadline } = this.running;
    const { timeoutMs } = this.step.call;
    return await runInTime(step.derivedKey ?? '', { signal, timeoutMs, leftMs: timeLeft(deadline) }, run);
  }

  /**
   * The arguments as they are stored, led to this deploy's version; before they are, its own.
   *
   * @throws CodedError as `readStored` does, and `phase_mismatch` where they lack what this deploy's have: `send` reads it
   */
  #argumentsOf(stored: Step | undefined): A {
    const { name, call } = this.step;
    const { engine, held } = this.running;
    const what = `arguments of ${name}`;
    const own = readStep<A>(encodeStep(what, call.arguments, call.version));
    if (!stored) return own;
    if (!stored.arguments) throw new CodedError('internal', `The arguments of ${name} were erased.`);
    const text = unseal(stored.arguments, what, held.id, engine.config.secrets);
    // As it would be had it been stored so: an upcast may make what is stored as something else.
    const upcast = readStep<A>(encodeStep(what, readStored(what, text, versionOfPart(call, 'arguments'))));
    const difference = shapeDifference(upcast, own);
    if (!difference) return upcast;
    const { path, existing, expected } = difference;
    const words =
      `The stored arguments of ${name} have another shape than those that this code gives, at arguments${path}. ` +
      'Raise its `version` and lead them up by `upcasts`, or bring the old code back.';
    throw new CodedError('phase_mismatch', words, { existing, expected });
  }
}

const isVerdict = (said: unknown) => {
  const refuse = memberOf(said, 'refuse') ?? 'marked_failed'; // a person's word, which no call may give
  return VERDICTS.has(said) || (typeof refuse === 'string' && refuse !== 'marked_failed');
};
const VERDICTS = new Set<unknown>(['indeterminate', 'not_executed', 'look_up']);

const isLookedUp = (said: unknown) =>
  said === 'absent' || said === 'pending' || said === 'done' || (memberOf(said, 'found') ?? undefined) !== undefined;

function memberOf(said: unknown, name: string): unknown {
  return typeof said === 'object' && said !== null ? (said as Record<string, unknown>)[name] : undefined;
}

/** Reads what a look-up has said. Throws a ConfigurationError for what is no answer: a search without a result, say. */
export function readLookedUp<R>(step: string, said: unknown): Answered | { found: R } {
  const expected = "{ found: the result }, 'absent' or 'pending'; 'done' where it has no result";
  const read = returned<Answered | 'done' | { found: R }>(`lookup of ${step}`, said, isLookedUp, expected);
  return read === 'done' ? { found: undefined as R } : read;
}

/** A final answer as it is stored. What cannot be stored of it is left out, or told as 422, and reported: it must not be lost. */
function storableRefusal<Tx>(running: PhasesRun<Tx>, said: Exclude<ForeignVerdict, string>): RefusalAnswer {
  const { refuse, data, status = 422, message } = said;
  try {
    if (isRefusalStatus(status) && !isFinal(status)) {
      const words = `The refusal ${refuse} of a foreign call is for good, and ${status} asks to come again. It is told as 422.`;
      reportError(running, new CodedError('internal', words));
      return storableRefusal(running, { ...said, status: 422 });
    }
    const refusal = refusalAnswer(refuse, data, said);
    // With what is stored beside it: of `executed` the longest value.
    encodeAnswer({ ...refusal, executed: 'unknown' }, running.method);
    return refusal;
  } catch (error) {
    reportError(running, error);
    const short = typeof message === 'string' ? { message: message.slice(0, MAX_MESSAGE) } : {};
    const told = isRefusalStatus(status) ? { status, ...short } : short;
    return refusalAnswer(refuse.slice(0, MAX_MESSAGE), undefined, told);
  }
}

/**
 * Runs something of a call, with the request that it is given, and ends with its time, also when it ignores its signal. That is
 * less than `leftMs`, so that what it comes to can still be written down.
 */
export async function runInTime<T>(
  idempotencyKey: string,
  { signal, timeoutMs = TIMEOUT_MS, leftMs }: { signal: AbortSignal; timeoutMs: number | undefined; leftMs: number },
  run: (request: ForeignRequest) => Promise<T>,
): Promise<T> {
  const margin = Math.min(MARGIN.mostMs, leftMs * MARGIN.share);
  const deadlineMs = Math.max(1, Math.floor(Math.min(timeoutMs, leftMs - margin)));
  const headers = {
    'Idempotency-Key': idempotencyKey,
    'X-Request-Timeout': String(deadlineMs),
    'X-Retry-Layer': 'none',
  };
  const either = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]);
  return await untilAborted(either, () => run({ idempotencyKey, signal: either, deadlineMs, headers }));
}
