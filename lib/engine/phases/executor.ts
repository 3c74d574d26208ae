import { LeaseLostError, UntrustedDataError } from '../../core/errors.ts';
import { assertTransition } from '../../core/key-state.ts';
import { drawToken } from '../../core/lease.ts';
import { seal, unseal } from '../../core/seal.ts';
import type { Held, LeasedClaim } from '../../store/leases.ts';
import { GRACE_MS, type KeyRow, StoreUnavailableError } from '../../store/store.ts';
import { recordedTraceParent } from '../../telemetry/trace-parent.ts';
import { encodeAnswer } from '../answer.ts';
import { type Call, type Engine, type PhasedDefinition, storeFor } from '../call.ts';
import { comparePayload } from '../call-result.ts';
import { newInstance } from '../config.ts';
import type { ExecuteRequest } from '../definition.ts';
import { answerOf } from '../handler.ts';
import type { ResponseOptions } from '../response.ts';
import { type Ended, follow } from '../single-flight.ts';
import { mayTryAgain, timeLeft } from '../transaction.ts';
import { transitioned } from '../transition.ts';
import { untilAborted } from '../until-aborted.ts';
import { contextOf } from './context.ts';
import { startHeartbeat } from './heartbeat.ts';
import { Journal } from './journal.ts';
import { RunEnded, type Running, reach, reasonOf } from './run.ts';
import { abandonCurrent, linger, open, perform } from './run-transaction.ts';
import { refuseIn } from './steps.ts';
import { decodeInput, encodeInput } from './stored-input.ts';
import { leaveToPerson, letGo } from './suspension.ts';

const MAX_RUN_MS = 300_000;

/** How a call of phases begins. */
interface Plan {
  input: unknown;
  /** How long to wait for another's uncommitted claim, in milliseconds. */
  waitMs: number;
  /** Called as soon as a committed row has the call's fingerprint. */
  claimed: () => void;
}

/** Claims the key and runs the phases; or goes on with a key that its executor has left, if the payload is the same. */
export async function executeInPhases<Tx>(
  call: Call<Tx>,
  definition: PhasedDefinition<Tx>,
  { input, waitMs, claimed }: Plan,
): Promise<Ended> {
  const { engine, id, mintedAt, fingerprint, request, deadline } = call;
  const { config, slots } = engine;
  const store = storeFor(call);
  const { schemaVersion = 1 } = definition.options;
  const { signal: stop, response, innerRetries } = request;
  const how = { deadline, stop, response, innerRetries };
  const text = encodeInput({ input, context: request.context ?? [] }, definition.options);
  const point = { operation: id.operation, key: id.key };
  await config.onPoint?.('before-claim', point);
  const claim: LeasedClaim = {
    ...id,
    mintedAt,
    windowMs: config.windowMs,
    retentionMs: config.phasesRetentionMs,
    fingerprint,
    schemaVersion,
    waitMs: 0,
    traceParent: recordedTraceParent(),
    leaseMs: config.leaseMs,
    firstToken: drawToken(),
    input: seal(text, 'input', id, config.secrets),
  };
  const run = { engine, options: definition.options, deadline };
  const claimOnce = () =>
    slots
      .patiently(
        Math.min(waitMs, timeLeft(deadline)),
        (wait) => open(run, { claim: { ...claim, waitMs: wait } }),
        (opened) => 'kind' in opened && opened.kind === 'locked',
      )
      .catch((error) => ({ kind: 'rolled_back' as const, error, why: 'error' as const }));
  let begun = await claimOnce();
  // At a stricter level than READ COMMITTED a wait for another's claim ends in a conflict.
  for (let attempt = 1; isConflict(begun) && (innerRetries ?? true); attempt++) {
    if (!(await mayTryAgain(attempt, deadline))) break;
    begun = await claimOnce();
  }
  if ('opened' in begun) {
    const committed = () => {
      claimed();
      transitioned(config, id, { from: 'absent', to: 'in_progress', attempt: 1, fingerprint });
    };
    return await runHeld(engine, definition, begun.opened.held, how, {
      current: begun,
      claiming: { claim, committed },
    });
  }
  if (begun.kind === 'rolled_back') return { ...begun, at: 'claim' };
  if (begun.kind !== 'existing' || !isUnfinished(begun.row)) return begun;
  if (comparePayload(begun.row, call, config.secrets) !== 'same') return begun;
  claimed();
  const { row } = begun;
  const taken = await inDoubt(async () => ({
    kind: 'taken' as const,
    held: await store.takeOver(id, config.leaseMs, true),
  }));
  if (taken.kind === 'in_doubt') return taken;
  if (taken.held) {
    const { state, attempts } = taken.held;
    transitioned(config, id, { from: row.state, to: state, attempt: attempts, fingerprint });
    return await runHeld(engine, definition, taken.held, how);
  }
  // Its executor lives, or has just finished: what is there now decides.
  return await inDoubt(async () => ({ kind: 'existing' as const, row: (await store.find(id)) ?? row }));
}

/**
 * The database did not answer a claim, or a question about a row that is there: the claim may have been committed, and
 * then a completer goes on with it. So nothing may be said to be unexecuted.
 */
async function inDoubt<T>(ask: () => Promise<T>): Promise<T | { kind: 'in_doubt'; error: unknown }> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    return { kind: 'in_doubt', error: error.cause };
  }
}

function isConflict(begun: object): boolean {
  return 'why' in begun && begun.why === 'conflict';
}

/** Whether a run may still change it. */
export function isUnfinished({ state }: KeyRow): boolean {
  return state === 'in_progress' || state === 'unknown';
}

/** What whoever has a key run asks for besides. */
interface How extends Pick<ExecuteRequest, 'response' | 'innerRetries'> {
  deadline: number;
  stop?: AbortSignal | undefined;
}

/**
 * Runs the function from the top for the executor that holds the key: finished steps give their stored result. It ends
 * in a settled row, an unknown one, or an error after which another run goes on. Never throws.
 *
 * `deadline`: when the caller's time is up, in milliseconds of `performance.now()`; `stop`: ends the run
 *   before its next step and lets go of the key; `response`: what a route makes of the result
 */
export async function runHeld<Tx>(
  engine: Engine<Tx>,
  definition: PhasedDefinition<Tx>,
  held: Held,
  { deadline, stop, response, innerRetries = true }: How,
  { current, claiming }: Partial<Pick<Running<Tx>, 'current' | 'claiming'>> = {},
): Promise<Ended> {
  const { options } = definition;
  const maxRunMs = options.maxRunMs ?? MAX_RUN_MS;
  const endsAt = Math.min(deadline, performance.now() + maxRunMs);
  const overdue = AbortSignal.timeout(Math.max(0, Math.ceil(timeLeft(endsAt))));
  const heartbeat = startHeartbeat({
    leaseMs: engine.config.leaseMs,
    renew: async () => {
      const { held: asked } = running;
      // A key that came back from `unknown` meanwhile has another token, and is held all the same.
      return (await engine.store.renew(asked, engine.config.leaseMs)) || running.held !== asked;
    },
    isHeldAnyway: () => running.inTransaction || running.claiming !== undefined,
    until: overdue,
  });
  const running: Running<Tx> = {
    engine,
    options,
    held,
    heartbeat,
    journal: new Journal(held.steps),
    input: undefined,
    signal: AbortSignal.any([heartbeat.signal, overdue]),
    stop,
    innerRetries,
    deadline: endsAt,
    claiming,
    current,
    inTransaction: current !== undefined,
    closing: undefined,
    hasProgressed: false,
    ending: undefined,
  };
  try {
    if (claiming) await reach(running, 'after-claim');
    return await runToTheEnd(running, definition, response);
  } catch (error) {
    return await interruptedInTime(running, error, deadline);
  } finally {
    void heartbeat.stop();
  }
}

async function runToTheEnd<Tx>(
  running: Running<Tx>,
  { phases, options }: PhasedDefinition<Tx>,
  how: ResponseOptions | undefined,
): Promise<Ended> {
  const { id, input: sealed } = running.held;
  const text = unseal(sealed ?? new Uint8Array(), 'input', id, running.engine.config.secrets);
  const { input, context } = decodeInput(text, options);
  running.input = input;
  const work = () => answerOf(() => phases(contextOf(running, input, context)), how);
  if (running.current) linger(running, running.current); // the claim, for the function's first step
  const answer = await inTime(running, work).catch((error) => {
    // A refusal that ended the run is stored like one that the function threw.
    if (running.ending && 'refusal' in running.ending) return running.ending.refusal;
    throw error;
  });
  running.current?.stopLingering?.();
  if (running.closing) await running.closing;
  const { ending } = running;
  if (ending && 'row' in ending) return ended(ending.row);
  if (ending && 'error' in ending) throw ending.error;
  const result = ending && 'refusal' in ending ? ending.refusal : answer;
  if (!ending) running.journal.assertComplete();
  assertTransition(running.held.state, result.kind === 'refusal' ? 'failed' : 'succeeded');
  await reach(running, 'before-finish');
  const { schemaVersion = 1 } = options;
  const row = await perform(
    running,
    async (tx) =>
      result.kind === 'refusal'
        ? await refuseIn(running, tx, result)
        : { settle: { state: 'succeeded', result: encodeAnswer(result), schemaVersion } },
    // A refusal undoes what is committed; an answer goes with the last phase.
    { joins: result.kind !== 'refusal' },
  );
  await reach(running, 'after-finish');
  return row ? ended(row) : { kind: 'suspended', error: new Error('The key was settled without a row.') };
}

/** Ends with the run's time or lease, also when the function waits for something that takes no notice of them. */
async function inTime<Tx, R>({ signal }: Running<Tx>, run: () => Promise<R>): Promise<R> {
  return await untilAborted(signal, run).catch((error) => {
    throw signal.aborted && error === signal.reason ? reasonOf(signal) : error;
  });
}

function ended(row: KeyRow): Ended {
  return isUnfinished(row) ? { kind: 'existing', row } : { kind: 'committed', row };
}

/** The caller waits no longer than it has time; what is to be written for whoever comes next goes on behind that. */
async function interruptedInTime<Tx>(running: Running<Tx>, thrown: unknown, deadline: number): Promise<Ended> {
  const { ending } = running;
  const error = thrown instanceof RunEnded && ending && 'error' in ending ? ending.error : thrown;
  const ended = interrupted(running, error);
  if (deadline === Number.POSITIVE_INFINITY) return await ended;
  return (await follow({ ended }, Math.max(0, timeLeft(deadline)) + GRACE_MS)) ?? { kind: 'suspended', error };
}

/** What was finished stands. Whoever holds the key now decides; if it is still this run, it lets go of it. */
async function interrupted<Tx>(running: Running<Tx>, error: unknown): Promise<Ended> {
  const { engine, held, ending } = running;
  if (ending && 'row' in ending) return ended(ending.row);
  running.ending ??= { error }; // a step that nobody has awaited begins nothing any more
  try {
    await abandonCurrent(running, error).catch(() => {});
    await claimAlone(running);
    if (error instanceof UntrustedDataError) await leaveToPerson(running, error.message);
    else if (!(error instanceof LeaseLostError)) await letGo(running);
  } catch {
    // The lease ends by itself.
  }
  const row = await engine.store.find(held.id).catch(() => undefined);
  if (error instanceof LeaseLostError && row) {
    const where = { operation: held.id.operation, key: held.id.key, during: 'phases' as const };
    engine.config.onError(error, { ...where, instance: newInstance() });
    return { kind: 'existing', row }; // another's work: to this caller it is a replay
  }
  // Without a row nobody holds it: it cannot be looked at, or a failover has lost it, with what was committed under it.
  return { kind: error instanceof LeaseLostError ? 'in_doubt' : 'suspended', error };
}

/**
 * The claim was rolled back with the first phase: it is made again, so that a later run goes on as behind any other phase.
 * Rejects where somebody else has made it meanwhile.
 */
async function claimAlone<Tx>({ engine, options, claiming }: Running<Tx>): Promise<void> {
  if (!claiming) return;
  // The caller's time may be up: this is for whoever comes behind it.
  const begun = await open({ engine, options, deadline: Number.POSITIVE_INFINITY }, claiming);
  if (!('opened' in begun)) throw new Error(`The key is not claimed: ${begun.kind}.`);
  const claimed = await begun.transaction.commit(begun.write);
  if (claimed.kind === 'committed') claiming.committed();
}
