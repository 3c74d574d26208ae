import { setTimeout as wait } from 'node:timers/promises';
import { fullJitter } from '../../core/backoff.ts';
import { CodedError } from '../../core/errors.ts';
import { isRemembered, type Move, nextMove, type Situation } from '../../core/foreign.ts';
import { isDoubtful } from '../../store/leases.ts';
import { recordDelay } from '../../telemetry/keys.ts';
import { encodeAnswer } from '../answer.ts';
import { type RefusalAnswer, refusalAnswer } from '../handler.ts';
import { timeLeft } from '../transaction.ts';
import { type ForeignCall, versionOf } from './foreign-call.ts';
import { lookUp, type Reply, readReference, send } from './foreign-exchange.ts';
import { type ForeignState, noteLateAnswer, recordAnswer, recordResult } from './foreign-record.ts';
import { assertGoesOn, endRun, enterStep, inStepSpan, type PhasesRun, reportError } from './run.ts';
import { assertReady, commitOpen } from './run-transaction.ts';
import { finish, readRefusal } from './steps.ts';
import { markUnknown } from './suspension.ts';

const JITTER = { baseMs: 200, capMs: 2000 };
const MAX_TRIES = 4;
const SETTLE_MS = 60_000;

/** `foreign`: see `PhasesContext`, and `core/foreign.ts` for what is done when. */
export async function foreign<Tx, A, R>(running: PhasesRun<Tx>, name: string, call: ForeignCall<A, R>): Promise<R> {
  const { position, stored } = enterStep(running, name, 'foreign');
  try {
    if (stored?.state === 'done') return finish<Tx, R>(running, name, stored.result, versionOf(call, 'result'), call);
    await assertReady(running);
    // Of a key that was lost the phases before it have run just now, and what is written of the call waits for their end.
    if (stored) await commitOpen(running);
    const mayBeDone = stored !== undefined && isDoubtful(stored);
    const talk: ForeignState<A, R> = {
      name,
      position,
      call,
      stored,
      readAt: running.heldAt,
      hasSent: false,
      mayBeDone,
      tookOver: mayBeDone,
      openSends: 0,
      endedAt: Number.NEGATIVE_INFINITY,
      late: undefined,
      isOver: false,
      verdict: undefined,
      refusal: stored ? readRefusal(stored) : undefined,
      mustLookUp: false,
      answered: undefined,
    };
    return await inStepSpan(running, 'foreign', name, () => settleCall(running, talk)).catch((error) => {
      talk.isOver = true;
      if (talk.late) noteLateAnswer(running, { step: name, isResult: true });
      throw error;
    });
  } catch (error) {
    return endRun(running, { error });
  } finally {
    running.journal.leave();
  }
}

/** Sends or asks until the outcome is known, or nothing more can be done in this run. */
async function settleCall<Tx, A, R>(running: PhasesRun<Tx>, talk: ForeignState<A, R>): Promise<R> {
  const { maxTries = MAX_TRIES } = talk.call;
  const found = await actOnVerdict(running, talk);
  if (found) return await recordResult(running, talk, found.result);
  let lastError: unknown;
  let tries = 1;
  for (;;) {
    const late = takeLate(talk);
    const move = nextMove(situationOf(talk));
    // The caller sends again, not we (H4). To ask is no retry: it changes nothing.
    if (!late && move === 'send' && talk.hasSent && !running.innerRetries)
      return await endEfforts(running, talk, false, lastError);
    const heard = late ?? (await makeMove(running, talk, move));
    // First of all: what is known now is written down, also when the time has just run out. The token guards it.
    if (heard.kind === 'result') return await recordResult(running, talk, heard.result);
    if (heard.kind === 'failed') lastError = heard.error;
    if (talk.late || needsNoPause(nextMove(situationOf(talk)), heard.kind)) continue;
    assertGoesOn(running);
    const pauseMs = fullJitter(tries, JITTER, Math.random());
    const isOver = heard.kind === 'over' || tries >= maxTries || pauseMs > timeLeft(running.deadline);
    if (isOver) return await endEfforts(running, talk, heard.kind === 'over', lastError);
    recordDelay(pauseMs, 'foreign');
    await wait(pauseMs, undefined, { signal: running.signal }).catch(() => assertGoesOn(running));
    tries++;
  }
}

/** True for what ends the call, and for the send that an answer has allowed: the two are one try. */
function needsNoPause(next: Move, heard: Reply<unknown>['kind'] | 'over'): boolean {
  if (heard === 'over') return false;
  return next === 'refuse' || next === 'give up' || (next === 'send' && heard === 'answered');
}

async function makeMove<Tx, A, R>(
  running: PhasesRun<Tx>,
  talk: ForeignState<A, R>,
  move: Move,
): Promise<Reply<R> | { kind: 'over' }> {
  switch (move) {
    case 'send':
      talk.hasSent = true;
      return await sendOnce(running, talk);
    case 'look up': {
      const { openSends } = talk;
      const heard = await lookUp(running, talk);
      // Asked before a send of ours ended, which may have arrived behind the answer.
      if (heard.kind === 'answered' && talk.openSends < openSends) return { kind: 'nothing' };
      return noteReply(talk, heard);
    }
    case 'ask later':
      // The next turn asks; it never sends on the strength of an answer that was not final.
      talk.answered = undefined;
      talk.mustLookUp = true;
      return { kind: 'nothing' };
    case 'refuse':
      return endRun(running, { refusal: talk.refusal as RefusalAnswer });
    case 'give up':
      return { kind: 'over' };
  }
}

/** The result of a send that was given up, where it has come meanwhile. */
function takeLate<A, R>(talk: ForeignState<A, R>): Reply<R> | undefined {
  const { late } = talk;
  talk.late = undefined;
  return late && { kind: 'result', result: late.result };
}

/** Sends it, and writes down where that has proved that nothing was done. */
async function sendOnce<Tx, A, R>(running: PhasesRun<Tx>, talk: ForeignState<A, R>): Promise<Reply<R>> {
  const { store, config } = running.engine;
  const { stored: before } = talk;
  const heard = await send(running, talk);
  await commitOpen(running); // behind an open circuit nothing has taken it along
  if (heard.kind === 'refused') {
    const { isRemembered, canLookUp } = situationOf(talk);
    // To its key, so for all that was sent under it. Where one can ask about those, one asks.
    const coversAll = isRemembered && !canLookUp;
    const refusal = encodeAnswer(heard.refusal);
    await recordAnswer(running, { step: talk.name, isResult: false }, () =>
      store.recordNotExecuted(running.held, config.leaseMs, talk.name, { refusal, coversAll }),
    );
    talk.refusal = heard.refusal;
    if (coversAll) talk.mayBeDone = false;
  } else if (heard.kind === 'failed' && heard.verdict === 'not_executed' && talk.stored !== before) {
    // Behind an open circuit nothing was begun, and nothing written down.
    await store.recordNotExecuted(running.held, config.leaseMs, talk.name);
  }
  return noteReply(talk, heard);
}

function noteReply<A, R>(talk: ForeignState<A, R>, heard: Reply<R>): Reply<R> {
  if (heard.kind === 'answered') talk.answered = heard.answer;
  if (heard.kind === 'failed' && heard.verdict !== 'not_executed') talk.mayBeDone = true;
  if (heard.kind === 'failed' && heard.verdict === 'look_up') talk.mustLookUp = true;
  return heard;
}

/** A person has found out what nobody could ask: it is acted upon by the run that comes next. */
async function actOnVerdict<Tx, A, R>(
  running: PhasesRun<Tx>,
  talk: ForeignState<A, R>,
): Promise<{ result: R } | undefined> {
  const { stored, call } = talk;
  if (!stored?.verdict) return undefined;
  if (stored.verdict === 'failed') return endRun(running, { refusal: refusalAnswer('marked_failed') });
  talk.verdict = stored.verdict;
  if (stored.verdict === 'retry') return undefined;
  if (!call.fromReference && !call.lookup) throw needsReader(talk.name);
  try {
    return await readReference(running, call, stored);
  } catch (error) {
    if (!call.lookup) throw error;
    reportError(running, error);
    return undefined;
  }
}

function needsReader(name: string): CodedError {
  const what = 'a person says that it went through, and the call has neither `fromReference` nor `lookup`';
  return new CodedError('internal', `${name}: ${what}. Give it one: its key is then finished by the next run.`);
}

/** The end of this run's efforts: a later run may send again, or it is unknown. */
async function endEfforts<Tx, A, R>(
  running: PhasesRun<Tx>,
  talk: ForeignState<A, R>,
  isOver: boolean,
  cause: unknown,
): Promise<never> {
  const { name } = talk;
  const later = nextMove({ ...situationOf(talk), answered: undefined });
  if (!isOver && later === 'send' && running.held.state === 'in_progress') {
    const words = `${name} has not succeeded yet; a later run goes on.`;
    return endRun(running, { error: new CodedError('unavailable', words, { cause }) });
  }
  // What asking has not helped with may still be found by asking later: a request that was on its way arrives.
  return await markUnknown(running, { step: name, canAsk: later !== 'give up', needsPerson: isOver });
}

function situationOf<A, R>({ call, stored, readAt, ...talk }: ForeignState<A, R>): Situation {
  const { sinceFirstSentMs, sinceLastSentMs, rememberedForMs = null } = stored ?? {};
  const since = performance.now() - readAt;
  const leftMs = rememberedForMs === null ? null : rememberedForMs - since;
  return {
    indeterminate: call.indeterminate,
    canLookUp: call.lookup !== undefined,
    verdict: talk.verdict,
    mayBeDone: talk.mayBeDone,
    isRemembered: isRemembered((sinceFirstSentMs ?? 0) + since, leftMs, call.providerKeyTtlMs ?? 0),
    isUnderWay: talk.tookOver || talk.openSends > 0,
    isRefused: talk.refusal !== undefined,
    mustLookUp: talk.mustLookUp,
    answered: talk.answered,
    sinceLastSentMs: Math.min((sinceLastSentMs ?? 0) + since, performance.now() - talk.endedAt),
    settleMs: call.settleMs ?? SETTLE_MS,
  };
}
