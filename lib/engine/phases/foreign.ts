import { setTimeout as wait } from 'node:timers/promises';
import { fullJitter } from '../../core/backoff.ts';
import { CodedError, retryAfterOf } from '../../core/errors.ts';
import { isRemembered, type Move, nextMove, type Situation } from '../../core/foreign.ts';
import { executedBy } from '../../core/outcome.ts';
import { isDoubtful, type Step } from '../../store/leases.ts';
import { recordDelay } from '../../telemetry/metrics.ts';
import { decodeAnswer, encodeAnswer } from '../answer.ts';
import { timeLeft } from '../deadline.ts';
import { type RefusalAnswer, refusalAnswer } from '../handler.ts';
import { isCircuitOpen } from './circuit-breakers.ts';
import { type ForeignCall, versionOfPart } from './context.ts';
import { finishStep } from './database-steps.ts';
import { ForeignExchange, type ForeignReply } from './foreign-exchange.ts';
import { type CallFailure, recordAnswer, recordCallFailure, recordResult, type StartedCall } from './foreign-record.ts';
import { assertGoesOn, beginStep, endRun, inStepSpan, type PhasesRun, runStep } from './run.ts';
import { endUnknown } from './suspension.ts';

const JITTER = { baseMs: 200, capMs: 2000 };
const MAX_TRIES = 4;
const SETTLE_MS = 60_000;

/** What is known of a call, besides what its `ForeignExchange` tells; as `Situation` has it, where the names are the same. */
interface CallState extends Pick<Situation, 'verdict' | 'mayBeDone' | 'mustLookUp' | 'answered'> {
  readonly stored: Step | undefined;
  /** When `stored` was read, in milliseconds of `performance.now()`: its ages count from there. */
  readonly readAt: number;
  readonly hasSent: boolean;
  /** True if an executor before this run may have sent it. */
  readonly tookOver: boolean;
  /** The answer of the last send that was final, for the whole intent. */
  readonly refusal: RefusalAnswer | undefined;
}

/** A move, and what is known behind it. */
interface Moved<R> {
  state: CallState;
  /** `over`: nobody can be asked, or asking does not help. */
  reply: ForeignReply<R> | { kind: 'over' };
}

/** `foreign`: see `PhasesContext`, and `core/foreign.ts` for what is done when. */
export async function foreign<Tx, A, R>(running: PhasesRun<Tx>, name: string, call: ForeignCall<A, R>): Promise<R> {
  return await runStep(running, name, 'foreign', async ({ position, stored }) => {
    if (stored?.state === 'done')
      return finishStep<Tx, R>(running, name, stored.result, versionOfPart(call, 'result'), call);
    await beginStep(running);
    // Of a key that was lost the phases before it have run just now, and what is written of the call waits for their end.
    if (stored) await running.transaction.commit();
    const exchange = new ForeignExchange(running, { name, position, call });
    return await inStepSpan(running, 'foreign', name, () => settleCall(exchange, stored)).catch((error) => {
      exchange.close();
      throw error;
    });
  });
}

/** Sends or asks until the outcome is known, or nothing more can be done in this run. */
async function settleCall<Tx, A, R>(exchange: ForeignExchange<Tx, A, R>, stored: Step | undefined): Promise<R> {
  const { running, step } = exchange;
  const { maxTries = MAX_TRIES } = step.call;
  // What the provider has said, and a person's reference, before a person's word that it failed.
  const found = isReferred(stored) ? await exchange.readReference(stored) : undefined;
  if (found) return await recordResult(running, step, { ...found, knownBy: 'reference' });
  if (stored?.verdict === 'failed') {
    const asked = isReferred(stored) ? await exchange.lookUp(stored) : undefined;
    if (asked?.kind === 'result') return await recordResult(running, step, { ...asked, knownBy: 'lookup' });
    return await endRefused(exchange, { ...refusalAnswer('failed'), reason: 'marked_failed' });
  }
  const mayBeDone = stored !== undefined && isDoubtful(stored);
  let state: CallState = {
    stored,
    readAt: running.heldAt,
    hasSent: false,
    mayBeDone,
    tookOver: mayBeDone,
    verdict: stored?.verdict ?? (isReferred(stored) ? 'succeeded' : undefined),
    refusal: stored && readRefusal(stored),
    mustLookUp: false,
    answered: undefined,
  };
  let failure: CallFailure | undefined;
  let tries = 1;
  for (;;) {
    const late = exchange.takeLateResult();
    const move = nextMove(situationOf(exchange, state));
    // The caller sends again, not we (H4). To ask is no retry: it changes nothing.
    if (!late && move === 'send' && state.hasSent && !running.innerRetries)
      return await endEfforts(exchange, state, { isOver: false, failure });
    const moved: Moved<R> = late
      ? { state, reply: { kind: 'result', ...late } }
      : await makeMove(exchange, state, move);
    const { reply } = moved;
    state = moved.state;
    // First of all: what is known now is written down, also when the time has just run out. The token guards it.
    const knownBy = late || move === 'send' ? 'answer' : 'lookup';
    if (reply.kind === 'result') return await recordResult(running, step, { result: reply.result, knownBy });
    failure = failureBehind(failure, move, reply);
    if (exchange.lateResult || needsNoPause(nextMove(situationOf(exchange, state)), reply.kind)) continue;
    assertGoesOn(running);
    const isOver = reply.kind === 'over';
    const askedMs = reply.kind === 'failed' ? retryAfterOf(reply.error) : 0;
    const pauseMs = Math.max(askedMs, fullJitter(tries, JITTER, Math.random()));
    // A long wait is a later run's.
    if (isOver || tries >= maxTries || pauseMs > Math.min(JITTER.capMs, timeLeft(running.deadline)))
      return await endEfforts(exchange, state, { isOver, failure });
    recordDelay(pauseMs, 'foreign');
    await wait(pauseMs, undefined, { signal: running.signal }).catch(() => assertGoesOn(running));
    tries++;
  }
}

/** True where something stands that its call is known as: by a person, or by the provider, whose word is a proof. */
const isReferred = (stored: Step | undefined): stored is Step & { reference: string } => stored?.reference != null;

/** The final answer that a call has been given, where it is stored but not yet the key's. */
function readRefusal({ state, result }: Step): RefusalAnswer | undefined {
  return state === 'started' && result !== null ? (decodeAnswer(result) as RefusalAnswer) : undefined;
}

/** The error to tell of, once the run's efforts are over: not that of a circuit which it has opened, nor of a look-up that was had since. */
function failureBehind(
  before: CallFailure | undefined,
  move: Move,
  reply: Moved<unknown>['reply'],
): CallFailure | undefined {
  const of = move === 'send' ? 'send' : 'lookup';
  if (reply.kind === 'failed') return before && isCircuitOpen(reply.error) ? before : { of, error: reply.error };
  return reply.kind === 'answered' && before?.of === 'lookup' ? undefined : before;
}

/** Ends the run in a refusal. Neither a person's word that a send did nothing is a proof of it, nor is a send over that is open. */
async function endRefused<Tx, A, R>({ running, openSends }: ForeignExchange<Tx, A, R>, refusal: RefusalAnswer) {
  const { engine, held } = running;
  // Nobody has judged what the first run has sent.
  const events = held.attempts > 1 ? await engine.store.events(held.id) : [];
  const isUnproven = openSends > 0 || events.some(({ type }) => type === 'verdict');
  return endRun(running, { refusal: { ...refusal, executed: executedBy(isUnproven ? 'none' : 'refusal') } });
}

/** True for what ends the call, and for the send that an answer has allowed: the two are one try. */
function needsNoPause(next: Move, reply: Moved<unknown>['reply']['kind']): boolean {
  if (reply === 'over') return false;
  return next === 'refuse' || next === 'give up' || (next === 'send' && reply === 'answered');
}

async function makeMove<Tx, A, R>(
  exchange: ForeignExchange<Tx, A, R>,
  state: CallState,
  move: Move,
): Promise<Moved<R>> {
  switch (move) {
    case 'send':
      return await sendOnce(exchange, state);
    case 'look up': {
      const { openSends } = exchange;
      const reply = await exchange.lookUp(state.stored);
      // Asked before a send of ours ended, which may have arrived behind the answer.
      const isStale = reply.kind === 'answered' && exchange.openSends < openSends;
      return isStale ? { state, reply: { kind: 'nothing' } } : { state: afterReply(state, reply), reply };
    }
    case 'ask later':
      // The next turn asks; it never sends on the strength of an answer that was not final.
      return { state: { ...state, answered: undefined, mustLookUp: true }, reply: { kind: 'nothing' } };
    case 'refuse':
      return await endRefused(exchange, state.refusal as RefusalAnswer);
    case 'give up':
      return { state, reply: { kind: 'over' } };
  }
}

/** Sends it, and writes down where that has proved that nothing was done. */
async function sendOnce<Tx, A, R>(exchange: ForeignExchange<Tx, A, R>, before: CallState): Promise<Moved<R>> {
  const { running, step } = exchange;
  const { store, config } = running.engine;
  const { started, reply } = await exchange.send(before.stored);
  if (!started) {
    await running.transaction.commit(); // nothing has taken it along
    return { state: { ...before, hasSent: true }, reply };
  }
  const state = afterReply(afterStart(before, started), reply);
  if (reply.kind === 'failed' && reply.verdict === 'not_executed') {
    await store.recordNotExecuted(running.held, config.leaseMs, step.name);
  }
  if (reply.kind !== 'refused') return { state, reply };
  const { isRemembered, canLookUp } = situationOf(exchange, state);
  // To its key, so for all that was sent under it. Where one can ask about those, one asks.
  const coversAll = isRemembered && !canLookUp;
  const refusal = encodeAnswer(reply.refusal);
  await recordAnswer(running, { step: step.name, isResult: false }, () =>
    store.recordNotExecuted(running.held, config.leaseMs, step.name, { refusal, coversAll }),
  );
  return { state: { ...state, refusal: reply.refusal, mayBeDone: state.mayBeDone && !coversAll }, reply };
}

function afterStart(state: CallState, started: StartedCall): CallState {
  // A person has vouched for the sends before this one.
  const vouched = state.verdict && { mayBeDone: false, tookOver: false, verdict: undefined };
  const unanswered = { answered: undefined, mustLookUp: false, refusal: undefined };
  return { ...state, ...started, ...vouched, ...unanswered, hasSent: true };
}

function afterReply(state: CallState, reply: ForeignReply<unknown>): CallState {
  if (reply.kind === 'answered') return { ...state, answered: reply.answer };
  if (reply.kind !== 'failed' || reply.verdict === 'not_executed') return state;
  return { ...state, mayBeDone: true, mustLookUp: state.mustLookUp || reply.verdict === 'look_up' };
}

/** The end of this run's efforts: a later run may send again, or it is unknown. */
async function endEfforts<Tx, A, R>(
  exchange: ForeignExchange<Tx, A, R>,
  state: CallState,
  { isOver, failure }: { isOver: boolean; failure: CallFailure | undefined },
): Promise<never> {
  const { running, step } = exchange;
  const later = nextMove({ ...situationOf(exchange, state), answered: undefined });
  if (!isOver && later === 'send' && running.held.state === 'in_progress') {
    const words = `${step.name} has not succeeded yet; a later run goes on.`;
    if (failure) await recordCallFailure(running, step.name, failure);
    const facts = { cause: failure?.error, retryAfterMs: retryAfterOf(failure?.error) || undefined };
    return endRun(running, { error: new CodedError('unavailable', words, facts) });
  }
  const isProven = isReferred(state.stored) && state.stored.verdict === null;
  if (isProven) {
    const detail = { step: step.name, reference: state.stored.reference };
    await running.engine.store.recordEvent(running.held.id, { type: 'set_aside', actor: 'executor', detail });
  }
  // What asking has not helped with may still be found by asking later: a request that was on its way arrives, and a proof may
  // still be made a result of.
  const canAsk = later !== 'give up' || (isProven && step.call.fromReference !== undefined);
  return await endUnknown(running, { step: step.name, canAsk, needsPerson: isOver, failure });
}

function situationOf<Tx, A, R>(exchange: ForeignExchange<Tx, A, R>, state: CallState): Situation {
  const { call } = exchange.step;
  const { sinceFirstSentMs, sinceLastSentMs, rememberedForMs = null } = state.stored ?? {};
  const since = performance.now() - state.readAt;
  const leftMs = rememberedForMs === null ? null : rememberedForMs - since;
  return {
    ...state,
    indeterminate: call.indeterminate,
    canLookUp: call.lookup !== undefined,
    isRemembered: isRemembered((sinceFirstSentMs ?? 0) + since, leftMs, call.providerKeyTtlMs ?? 0),
    isUnderWay: state.tookOver || exchange.openSends > 0,
    isRefused: state.refusal !== undefined,
    sinceLastSentMs: Math.min((sinceLastSentMs ?? 0) + since, performance.now() - exchange.endedAt),
    settleMs: call.settleMs ?? SETTLE_MS,
  };
}
