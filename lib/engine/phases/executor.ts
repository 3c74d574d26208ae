import { LeaseLostError, UntrustedDataError } from '../../core/errors.ts';
import { assertTransition, isSettled } from '../../core/key-state.ts';
import { unseal } from '../../core/seal.ts';
import { settleWithin, untilAborted } from '../../core/wait.ts';
import type { HeldKey } from '../../store/leases.ts';
import { GRACE_MS } from '../../store/store.ts';
import { encodeAnswer, withAddress } from '../answer.ts';
import type { FlightResult } from '../call-result.ts';
import { timeLeft } from '../deadline.ts';
import type { ExecuteRequest, PhasedDefinition } from '../definition.ts';
import type { Engine } from '../engine.ts';
import { defer, fail, runToEnd } from '../handler.ts';
import { answerOf } from '../kept.ts';
import type { PhasesContext } from './context.ts';
import { atomic, capture, keepingOf, refuseIn } from './database-steps.ts';
import { foreign } from './foreign.ts';
import { startHeartbeat } from './heartbeat.ts';
import { Journal } from './journal.ts';
import { abortErrorOf, endRun, type PhasesRun, RunEnded, reach, reportError } from './run.ts';
import { type EndRow, type PendingClaim, RunTransaction } from './run-transaction.ts';
import { decodeInput } from './stored-input.ts';
import { leaveToPerson, suspendRun } from './suspension.ts';

const MAX_RUN_MS = 300_000;

/** The limits of a run, and the form of its answer. */
interface RunOptions extends Pick<ExecuteRequest, 'response' | 'innerRetries' | 'method'> {
  deadline: number;
  stop?: AbortSignal | undefined;
}

/**
 * Runs the function from the top for the executor that holds the key: finished steps give their stored result. It ends
 * in a settled row, an unknown one, or an error after which another run goes on. Never throws.
 *
 * `deadline`: when the caller's time is up, in milliseconds of `performance.now()`; `stop`: ends the run
 *   before its next step and lets go of the key; `response`: what a route makes of the result, unless the key is of
 *   another method than its `method`
 */
export async function runHeld<Tx>(
  engine: Engine<Tx>,
  definition: PhasedDefinition<Tx>,
  held: HeldKey,
  { deadline, stop, response, innerRetries = true, method }: RunOptions,
  claim?: PendingClaim<Tx>,
): Promise<FlightResult> {
  const heldAt = performance.now();
  const { options } = definition;
  const endsAt = Math.min(deadline, heldAt + (options.maxRunMs ?? MAX_RUN_MS));
  const overdue = AbortSignal.timeout(Math.max(0, Math.ceil(timeLeft(endsAt))));
  const settings = { engine, options, deadline: endsAt, innerRetries };
  const heartbeat = startHeartbeat({
    leaseMs: engine.config.leaseMs,
    renew: async () => {
      const { held: asked } = running;
      // A key that came back from `unknown` meanwhile has another token, and is held all the same.
      return (await engine.store.renew(asked, engine.config.leaseMs)) || running.held !== asked;
    },
    isRowLocked: () => running.transaction.locksKey,
    until: overdue,
  });
  const running: PhasesRun<Tx> = {
    ...settings,
    held,
    heldAt,
    heartbeat,
    journal: new Journal(held.steps),
    input: undefined,
    signal: AbortSignal.any([heartbeat.signal, overdue]),
    stopSignal: stop,
    transaction: new RunTransaction(settings, () => running.held, claim),
    hasFinishedCall: false,
    ending: undefined,
  };
  try {
    if (claim) await reach(running, 'after-claim');
    return await runFunction(running, definition, { response, method });
  } catch (error) {
    return await interruptInTime(running, error, deadline);
  } finally {
    void heartbeat.stop();
  }
}

async function runFunction<Tx>(
  running: PhasesRun<Tx>,
  { phases, options, redirectTo }: PhasedDefinition<Tx>,
  asked: Pick<RunOptions, 'response' | 'method'>,
): Promise<FlightResult> {
  const { transaction, signal } = running;
  const { id, input: sealed } = running.held;
  const text = unseal(sealed ?? new Uint8Array(), 'input', id, running.engine.config.secrets);
  const { input, context, method } = decodeInput(text, options);
  transaction.given.push(input, context);
  running.input = input;
  running.method = method;
  const response = method === undefined || method === asked.method ? asked.response : undefined;
  const work = async () => {
    const ended = await runToEnd(phases, contextOf(running, input, context));
    if (running.ending) return endRun(running, running.ending); // whatever the function has made of it
    running.journal.assertAwaited();
    const made = await answerOf(ended, response, keepingOf(running));
    return withAddress(made, redirectTo, { engine: running.engine, id });
  };
  transaction.keepOpen(); // the claim, for the function's first step
  // It ends with the run's time or lease, also when the function waits for something that takes no notice of them.
  const answer = await untilAborted(signal, work).catch((error) => {
    // A refusal that ended the run is stored like one that the function threw.
    if (running.ending && 'refusal' in running.ending) return running.ending.refusal;
    throw signal.aborted && error === signal.reason ? abortErrorOf(signal) : error;
  });
  await transaction.ready();
  const { ending } = running;
  if (ending && 'row' in ending) return resultOf(ending);
  if (ending && 'error' in ending) throw ending.error;
  const result = ending && 'refusal' in ending ? ending.refusal : answer;
  if (!ending) running.journal.assertComplete();
  assertTransition(running.held.state, result.kind === 'refusal' ? 'failed' : 'succeeded');
  transaction.given.push(result);
  await reach(running, 'before-finish');
  const { schemaVersion = 1 } = options;
  const end = await transaction.runPhase(
    async (tx) =>
      result.kind === 'refusal'
        ? await refuseIn(running, tx, result)
        : { settle: { state: 'succeeded', result: encodeAnswer(result, method), schemaVersion } },
    // A refusal undoes what is committed; an answer goes with the last phase.
    { joins: result.kind !== 'refusal' },
  );
  if (end?.isOthers) return resultOf(end);
  await reach(running, 'after-finish');
  return end ? resultOf(end) : { kind: 'suspended', error: new Error('The key was settled without a row.') };
}

/** `committed` is answered without a look at whose row it is and what was sent, so it is only what this run has settled. */
function resultOf({ row, isOthers = false }: EndRow): FlightResult {
  return { kind: isSettled(row.state) && !isOthers ? 'committed' : 'existing', row };
}

/** The caller waits no longer than it has time; what is to be written for whoever comes next goes on behind that. */
async function interruptInTime<Tx>(running: PhasesRun<Tx>, thrown: unknown, deadline: number): Promise<FlightResult> {
  const { ending } = running;
  const error = thrown instanceof RunEnded && ending && 'error' in ending ? ending.error : thrown;
  const ended = interrupt(running, error);
  if (deadline === Number.POSITIVE_INFINITY) return await ended;
  const patienceMs = Math.max(0, timeLeft(deadline)) + GRACE_MS;
  return await settleWithin(ended, patienceMs, () => ({ kind: 'suspended', error }));
}

/** Ends a run that cannot go on. Finished steps stand. If the run still holds the key, it suspends it. */
async function interrupt<Tx>(running: PhasesRun<Tx>, error: unknown): Promise<FlightResult> {
  const { engine, held, ending } = running;
  if (ending && 'row' in ending) return resultOf(ending);
  running.ending ??= { error }; // a step that nobody has awaited begins nothing any more
  let told = error;
  try {
    await running.transaction.abandon(error).catch(() => {});
    // Each later run would fail alike, and nothing of the key is there: another input may be sent with it.
    if (running.transaction.isClaimRolledBack && engine.store.violatedConstraint(error) !== undefined) {
      return { kind: 'rolled_back', why: 'error', error, at: 'run' };
    }
    await running.transaction.repeatClaim();
    if (error instanceof UntrustedDataError) await leaveToPerson(running, error.message);
    // Also where the lease seems lost: it may have been a refusal that something heard meanwhile has kept from being written.
    else {
      await suspendRun(running, error);
      // It held the key, and its heartbeat did not end it: what it wrote was kept from being written.
      if (error instanceof LeaseLostError && error !== running.signal.reason) told = stoppedByProof(held, error);
    }
  } catch {
    // The lease ends by itself.
  }
  const row = await engine.store.find(held.id).catch(() => undefined);
  if (error instanceof LeaseLostError && row) {
    reportError(running, told);
    return { kind: 'existing', row }; // another's work: to this caller it is a replay
  }
  // Without a row nobody holds it: it cannot be looked at, or a failover has lost it, with what was committed under it.
  if (error instanceof LeaseLostError) return { kind: 'in_doubt', error };
  return { kind: 'suspended', error, isBeforeCalls: running.journal.executed === false };
}

const stoppedByProof = ({ id: { operation, key } }: HeldKey, cause: LeaseLostError) =>
  new LeaseLostError(`A proof of a call of ${operation} ${key} was heard during this run: the next one acts upon it.`, {
    existing: 'a proof that this run did not know',
    expected: 'none, where it sends or refuses',
    cause,
  });

/** The context of one run. */
function contextOf<Tx>(running: PhasesRun<Tx>, input: unknown, context: readonly unknown[]): PhasesContext<never, Tx> {
  const { key, ...scope } = running.held.id;
  return {
    input: input as never,
    key,
    scope,
    context,
    atomic: (name, run, version) => atomic(running, name, run, version),
    foreign: (name, call) => foreign(running, name, call),
    capture: (name, make, version) => capture(running, name, make, version),
    fail,
    defer,
    signal: running.signal,
    get deadlineMs() {
      return Math.max(0, Math.round(timeLeft(running.deadline)));
    },
  };
}
