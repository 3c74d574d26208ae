import { CodedError } from '../../core/errors.ts';
import type { Begun, HeldKey, LeasedClaim, NewStep, Write } from '../../store/leases.ts';
import type { KeyRow } from '../../store/store.ts';
import { recordTransition } from '../instrumentation.ts';
import { asBegun, mayTryAgain } from '../transaction.ts';
import { OpenTransaction, type RunTransaction } from './open-transaction.ts';
import { assertGoesOn, endRun, type PhasesRun, reach } from './run.ts';

/** Without anything that could have been committed in it. */
type NotOpened = Exclude<Begun, { kind: 'committed' }>;

/** Runs in a transaction of the executor: finishes a step, or settles the key. */
export type Phase<Tx> = (tx: Tx) => Promise<Pick<Write, 'settle'> & { step?: NewStep }>;

interface How {
  /** Goes on in a transaction whose phase is finished. */
  joins?: boolean;
}

/**
 * Runs a phase in a transaction of this run, again where it conflicts with others (C4). A finished step need not be
 * committed when this resolves: it is with the function's next step, at the latest when the event loop turns (ADR 37).
 *
 * @returns the row where it settled the key
 */
export async function runPhase<Tx>(
  running: PhasesRun<Tx>,
  phase: Phase<Tx>,
  how: How = {},
): Promise<KeyRow | undefined> {
  for (let attempt = 1; ; attempt++) {
    const begun = await transactionFor(running, how);
    const ended: Begun | 'lingers' = 'opened' in begun ? await runPhaseIn(running, begun, phase) : begun;
    if (ended === 'lingers') return undefined;
    if (ended.kind === 'committed') return ended.row;
    // The claim was rolled back with a conflict. Somebody else has claimed the key or its thing before it was made again.
    if (ended.kind === 'existing') return endRun(running, { row: ended.row, isOthers: true });
    const isConflict = ended.kind === 'rolled_back' && ended.why === 'conflict';
    if (isConflict && running.innerRetries && (await mayTryAgain(attempt, running.deadline))) continue;
    throw errorOf(ended);
  }
}

async function runPhaseIn<Tx>(
  running: PhasesRun<Tx>,
  current: RunTransaction<Tx>,
  phase: Phase<Tx>,
): Promise<Begun | 'lingers'> {
  const { transaction, opened, write } = current;
  current.isBusy = true;
  const ended = transaction.ended.then((ended) => ({ ended })); // by its own time, whatever the phase still waits for
  let done: Awaited<ReturnType<Phase<Tx>>> | { ended: Begun };
  try {
    done = await Promise.race([opened.inside(() => phase(opened.tx)), ended]);
  } catch (error) {
    const ended = await awaitEnd(running, current, transaction.rollBack(error));
    // The run has ended meanwhile, and what was there before the phase is committed.
    return ended.kind === 'committed' ? { kind: 'rolled_back', error, why: 'error' } : ended;
  }
  current.isBusy = false;
  if ('ended' in done) return await awaitEnd(running, current, transaction.ended);
  const { step, settle } = done;
  if (step) write.steps.push(step);
  if (settle) write.settle = settle;
  // A strict level may refuse the COMMIT, and the phase must then run again at once.
  const mayLinger = !settle && opened.withhold && running.options.isolationLevel !== 'Serializable';
  if (!mayLinger) return await commit(running, current);
  linger(running, current);
  return 'lingers';
}

/** The transaction that the next phase runs in. Where none could be begun, why not. */
async function transactionFor<Tx>(running: PhasesRun<Tx>, { joins = false }: How): Promise<RunTransaction<Tx> | Begun> {
  const { transaction } = running;
  transaction?.stopLingering?.();
  const mayGoOn = joins || transaction?.write.steps.every(isCapture);
  if (transaction && mayGoOn && !transaction.committing) return transaction;
  if (transaction) await commitOpen(running);
  const { claiming, held } = running;
  running.inTransaction = true;
  const begun = await openTransaction(running, claiming ?? { held }).catch((error) => {
    running.inTransaction = false;
    throw error;
  });
  if ('opened' in begun) {
    begun.write.steps.push(...running.carried.splice(0));
    running.transaction = begun;
  } else {
    running.inTransaction = false;
  }
  return begun;
}

/** A transaction of the executor, with the claim in it where the key is yet to be claimed; or why there is none. */
export async function openTransaction<Tx>(
  { engine, options, deadline }: Pick<PhasesRun<Tx>, 'engine' | 'options' | 'deadline'>,
  on: { claim: LeasedClaim } | { held: HeldKey },
): Promise<RunTransaction<Tx> | NotOpened> {
  const { store, config } = engine;
  const write: RunTransaction<Tx>['write'] = { steps: [] };
  const beforeCommit = async () => {
    const at = { engine, held: 'held' in on ? on.held : { id: on.claim } };
    const phases = write.steps.filter((step) => !isCapture(step));
    for (const { name } of phases) await reach(at, 'before-commit', name);
    if (phases.length === 0 && write.settle) await reach(at, 'before-commit');
  };
  const of = 'claim' in on ? { id: on.claim, waitMs: on.claim.waitMs } : { id: on.held.id };
  const how = { ...asBegun(engine, options, { ...of, deadline }), beforeCommit };
  const transaction = new OpenTransaction<Tx, Begun>((run) =>
    'claim' in on ? store.begin(on.claim, run, how) : store.transact(on.held, config.leaseMs, run, how),
  );
  const opened = await transaction.opened;
  if (!opened) return (await transaction.ended) as NotOpened;
  return { transaction, opened, write, isBusy: false, committing: undefined, stopLingering: undefined };
}

/**
 * Keeps it open for the function's next step, for as long as nothing but the function's own code can run: whatever asks
 * for a connection has it committed first, and so does the next turn of the event loop.
 */
export function linger<Tx>(running: PhasesRun<Tx>, current: RunTransaction<Tx>): void {
  const close = () => {
    if (current.stopLingering) closeLingering(running);
    return running.closing ?? Promise.resolve();
  };
  const turn = setImmediate(close);
  const unwithhold = current.opened.withhold?.(close);
  current.stopLingering = () => {
    clearImmediate(turn);
    unwithhold?.();
    current.stopLingering = undefined;
  };
}

/** Commits what no step waits for. Where that fails the run has ended: it goes on from the top. */
function closeLingering<Tx>(running: PhasesRun<Tx>): void {
  running.closing = commitOpen(running)
    .catch((error) => {
      running.ending ??= { error };
    })
    .then(() => {
      running.closing = undefined;
    });
}

/** Commits the open transaction, with a call that is about to be sent where one is given. */
export async function commitOpen<Tx>(running: PhasesRun<Tx>, more: Pick<Write, 'start'> = {}): Promise<void> {
  const { transaction } = running;
  if (!transaction) return;
  Object.assign(transaction.write, more);
  const ended = await commit(running, transaction);
  if (ended.kind !== 'committed') throw errorOf(ended);
}

/** Ends the open transaction of a run that has failed: what is finished in it stays, a phase that runs does not. */
export async function abandonOpen<Tx>(running: PhasesRun<Tx>, error: unknown): Promise<void> {
  await running.closing;
  const { transaction } = running;
  if (!transaction) return;
  if (transaction.isBusy) await awaitEnd(running, transaction, transaction.transaction.rollBack(error));
  else await commitOpen(running);
}

/** Called as a step begins, so that none runs beside a COMMIT. */
export async function assertReady<Tx>(running: PhasesRun<Tx>): Promise<void> {
  running.transaction?.stopLingering?.();
  if (running.closing) await running.closing;
  assertGoesOn(running);
}

function commit<Tx>(running: PhasesRun<Tx>, current: RunTransaction<Tx>): Promise<Begun> {
  current.committing ??= commitOnce(running, current);
  return current.committing;
}

async function commitOnce<Tx>(running: PhasesRun<Tx>, current: RunTransaction<Tx>): Promise<Begun> {
  const { engine, held, claiming } = running;
  const ended = await awaitEnd(running, current, current.transaction.commit(current.write));
  if (ended.kind !== 'committed') return ended;
  running.claiming = undefined;
  claiming?.committed();
  if (ended.row) {
    const { state: to, attempts: attempt, fingerprint } = ended.row;
    recordTransition(engine.config, ended.row, { from: held.state, to, attempt, fingerprint });
  }
  for (const step of current.write.steps) {
    if (isCapture(step)) continue;
    running.hasProgressed = true;
    await reach(running, 'after-commit', step.name);
  }
  return ended;
}

async function awaitEnd<Tx>(
  running: PhasesRun<Tx>,
  current: RunTransaction<Tx>,
  ending: Promise<Begun>,
): Promise<Begun> {
  current.stopLingering?.();
  let ended: Begun | undefined;
  try {
    ended = await ending;
    return ended;
  } finally {
    if (running.transaction === current) {
      running.transaction = undefined;
      running.inTransaction = false;
      if (ended?.kind === 'rolled_back') running.carried.push(...capturedBefore(current.write.steps));
    }
  }
}

function errorOf(ended: Begun): unknown {
  const error = 'error' in ended ? ended.error : undefined;
  if (ended.kind === 'rolled_back' && ended.why === 'error') return error;
  return new CodedError('unavailable', 'The database did not answer, or others were in the way; a later run goes on.', {
    cause: error,
  });
}

const isCapture = ({ kind }: NewStep) => kind === 'capture';

/** The values that were captured before the first phase: every later try has the first one's (S6). */
function capturedBefore(steps: readonly NewStep[]): readonly NewStep[] {
  const first = steps.findIndex((step) => !isCapture(step));
  return first === -1 ? steps : steps.slice(0, first);
}
