import { setTimeout as wait } from 'node:timers/promises';
import { fullJitter } from '../../core/backoff.ts';
import { derivedKey } from '../../core/derived-key.ts';
import { CodedError } from '../../core/errors.ts';
import { type Answered, type Move, nextMove } from '../../core/foreign.ts';
import { seal } from '../../core/seal.ts';
import { type ForeignStart, type Held, isDoubtful, type Step } from '../../store/leases.ts';
import { recordDelay } from '../../telemetry/keys.ts';
import { encodeStep } from '../answer.ts';
import { awaitReplication } from '../durability.ts';
import { refusalAnswer } from '../handler.ts';
import { timeLeft } from '../transaction.ts';
import type { ForeignCall } from './foreign-call.ts';
import { lookUp, type Reply, readReference, send } from './foreign-exchange.ts';
import { recordResult, resumeUnknown } from './foreign-result.ts';
import { assertGoesOn, endRun, enterStep, type PhasesRun, reach } from './run.ts';
import { assertReady, commitOpen } from './run-transaction.ts';
import { inStepSpan } from './step-span.ts';
import { readStep } from './steps.ts';
import { markUnknown } from './suspension.ts';

const JITTER = { baseMs: 200, capMs: 2000 };
const MAX_TRIES = 4;
const SETTLE_MS = 60_000;

/** The knowledge of one foreign call while it is being settled. */
interface ForeignState<A, R> {
  readonly name: string;
  readonly position: number;
  readonly call: ForeignCall<A, R>;
  stored: Step | undefined;
  /** When `stored` was read, in milliseconds of `performance.now()`: its ages count from there. */
  readAt: number;
  /** True if this run has sent it. */
  hasSent: boolean;
  /** True if some send may have arrived. */
  maybeDone: boolean;
  /** True if an executor before this run may have sent it. */
  tookOver: boolean;
  settleMs: number;
  mustLookUp: boolean;
  answered: Answered | undefined;
}

/** `foreign`: see `PhasesContext`, and `core/foreign.ts` for what is done when. */
export async function foreign<Tx, A, R>(running: PhasesRun<Tx>, name: string, call: ForeignCall<A, R>): Promise<R> {
  const { position, stored } = enterStep(running, name, 'foreign');
  try {
    if (stored?.state === 'done') return readStep<R>(stored.result);
    await assertReady(running);
    // Of a key that was lost the phases before it have run just now, and what is written of the call waits for their end.
    if (stored) await commitOpen(running);
    const maybeDone = stored !== undefined && isDoubtful(stored);
    const talk: ForeignState<A, R> = {
      name,
      position,
      call,
      stored,
      readAt: performance.now(),
      hasSent: false,
      maybeDone,
      tookOver: maybeDone,
      settleMs: call.settleMs ?? SETTLE_MS,
      mustLookUp: false,
      answered: undefined,
    };
    return await inStepSpan(running, 'foreign', name, () => settleCall(running, talk));
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
  for (let tries = 1; ; tries++) {
    const move = nextMove(situationOf(talk));
    // The caller sends again, not we (H4). To ask is no retry: it changes nothing.
    if (move === 'send' && talk.hasSent && !running.innerRetries)
      return await endEfforts(running, talk, false, lastError);
    const heard = await makeMove(running, talk, move);
    // First of all: what is known now is written down, also when the time has just run out. The token guards it.
    if (heard.kind === 'result') return await recordResult(running, talk, heard.result);
    if (heard.kind === 'refused') endRun(running, { refusal: heard.refusal });
    assertGoesOn(running);
    if (heard.kind === 'failed') lastError = heard.error;
    const pauseMs = fullJitter(tries, JITTER, Math.random());
    const isOver = heard.kind === 'over' || tries >= maxTries || pauseMs > timeLeft(running.deadline);
    if (isOver) return await endEfforts(running, talk, heard.kind === 'over', lastError);
    recordDelay(pauseMs, 'foreign');
    await wait(pauseMs, undefined, { signal: running.signal }).catch(() => assertGoesOn(running));
  }
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
    case 'look up':
      return noteReply(talk, await lookUp(running, talk.call, talk.stored));
    case 'ask later':
      // The next turn asks; it never sends on the strength of an answer that was not final.
      talk.answered = undefined;
      talk.mustLookUp = true;
      return { kind: 'nothing' };
    case 'give up':
      return { kind: 'over' };
  }
}

/** Sends it, and writes down where that has proved that nothing was done. */
async function sendOnce<Tx, A, R>(running: PhasesRun<Tx>, talk: ForeignState<A, R>): Promise<Reply<R>> {
  const { store, config } = running.engine;
  let isStarted = false;
  const heard = await send(running, talk.call, async () => {
    const step = await start(running, talk);
    isStarted = true;
    return step;
  });
  await commitOpen(running); // behind an open circuit nothing has taken it along
  // Behind an open circuit nothing was begun.
  if (isStarted && heard.kind === 'failed' && heard.verdict === 'not_executed') {
    await store.recordNotExecuted(running.held, config.leaseMs, talk.name);
  }
  return noteReply(talk, heard);
}

function noteReply<A, R>(talk: ForeignState<A, R>, heard: Reply<R>): Reply<R> {
  if (heard.kind === 'answered') talk.answered = heard.answer;
  if (heard.kind === 'failed' && heard.verdict !== 'not_executed') talk.maybeDone = true;
  if (heard.kind === 'failed' && heard.verdict === 'look_up') talk.mustLookUp = true;
  return heard;
}

/** Writes down what is about to be sent (P2), under the token. Whoever finds the row knows that it may have happened. */
async function start<Tx, A, R>(running: PhasesRun<Tx>, talk: ForeignState<A, R>): Promise<Step> {
  assertGoesOn(running); // the circuit breaker may have kept it waiting
  const { store, config } = running.engine;
  const { name, position, call } = talk;
  if (running.held.state === 'unknown') {
    await resumeUnknown(running, { name, result: null });
  }
  await reach(running, 'before-started', name);
  const { id } = running.held;
  const sealed = seal(encodeStep(call.arguments), `arguments of ${name}`, id, config.secrets);
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
    await awaitReplication({ engine: running.engine, definition: running, deadline: running.deadline });
  }
  talk.answered = undefined;
  talk.mustLookUp = false;
  // A person's verdict covered the time before this send.
  talk.settleMs = call.settleMs ?? SETTLE_MS;
  await reach(running, 'after-started', name);
  return talk.stored;
}

/** The step as it was written down: its first send. */
function firstSend({ fencingToken }: Held, { name, position, arguments: sealed, derivedKey }: ForeignStart): Step {
  return {
    name,
    position,
    kind: 'foreign',
    state: 'started',
    result: null,
    fencingToken,
    arguments: sealed,
    derivedKey,
    sends: 1,
    notExecuted: 0,
    sinceFirstSentMs: 0,
    sinceLastSentMs: 0,
    firstSentAt: null,
    finishedAt: null,
    verdict: null,
    reference: null,
  };
}

/** A person has found out what nobody could ask: it is acted upon by the run that comes next. */
async function actOnVerdict<Tx, A, R>(
  running: PhasesRun<Tx>,
  talk: ForeignState<A, R>,
): Promise<{ result: R } | undefined> {
  const { stored, call } = talk;
  switch (stored?.verdict) {
    case 'succeeded': {
      if (!call.fromReference && !call.lookup) throw needsReader(talk.name);
      const result = await readReference(running, call, stored);
      if (result) return result;
      talk.mustLookUp = true;
      return undefined;
    }
    case 'failed':
      return endRun(running, { refusal: refusalAnswer('marked_failed') });
    case 'retry':
      // The person vouches that it did not happen. Where one can ask, that is checked all the same.
      talk.tookOver = false;
      talk.settleMs = 0;
      talk.mustLookUp = call.lookup !== undefined;
      talk.maybeDone = talk.mustLookUp && call.indeterminate !== 'unknown';
      return undefined;
    default:
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

function situationOf<A, R>({ call, stored, readAt, ...talk }: ForeignState<A, R>) {
  const since = performance.now() - readAt;
  const age = (ms: number | null | undefined) => (talk.maybeDone && typeof ms === 'number' ? ms + since : null);
  return {
    indeterminate: call.indeterminate,
    canLookUp: call.lookup !== undefined,
    providerKeyTtlMs: call.providerKeyTtlMs ?? 0,
    settleMs: talk.settleMs,
    sinceFirstSentMs: age(stored?.sinceFirstSentMs),
    sinceLastSentMs: age(stored?.sinceLastSentMs),
    tookOver: talk.tookOver,
    mustLookUp: talk.mustLookUp,
    answered: talk.answered,
  };
}
