import { asItWas } from '../../core/data.ts';
import { CodedError } from '../../core/errors.ts';
import type { Begun, FinishedStep, ForeignStart, HeldKey, LeasedClaim, NewStep, Write } from '../../store/leases.ts';
import type { KeyRow } from '../../store/store.ts';
import { recordTransition } from '../instrumentation.ts';
import { mayTryAgain } from '../transaction.ts';
import { type OpenTransaction, openTransaction, type RunSettings } from './open-transaction.ts';

/** Runs in a transaction of the executor: finishes a step, or settles the key. */
export type Phase<Tx> = (tx: Tx) => Promise<Pick<Write, 'settle'> & { step?: NewStep }>;

/** The row that a run has ended in. `isOthers`: it is another executor's, or of another key that holds the thing. */
export interface EndRow {
  row: KeyRow;
  isOthers?: boolean;
}

/** A claim that is committed with the first transaction of its run; nothing of the key is there before. */
export interface PendingClaim<Tx> {
  claim: LeasedClaim;
  /** The transaction in which it was made. */
  open: OpenTransaction<Tx>;
  committed(): void;
}

type State<Tx> =
  | { name: 'none' }
  | { name: 'opening' }
  | { name: 'in phase'; open: OpenTransaction<Tx> }
  /** A step has begun, or will, that commits it or goes on in it. */
  | { name: 'ready'; open: OpenTransaction<Tx> }
  /** The function's own code is running. Whatever comes next ends this, by `release` or COMMIT. */
  | { name: 'kept open'; open: OpenTransaction<Tx>; release: () => void }
  | { name: 'committing'; open: OpenTransaction<Tx>; committed: Promise<Begun> };

/**
 * The transaction of a run, of which one at most is open at a time. A finished step need not be committed when its promise
 * resolves: it is with the function's next step, at the latest when the event loop turns (ADR 37).
 */
export class RunTransaction<Tx> {
  /** A COMMIT that no step has asked for, while it is under way and where it has failed: then the run goes on from the top. */
  backgroundCommit: Promise<void> | undefined;
  /** True if a phase of this run was committed. */
  hasFinishedPhase = false;
  /** Data that the function has: what one try of a phase changes of it, the next one must not see. */
  readonly given: unknown[] = [];
  readonly #settings: RunSettings<Tx>;
  readonly #held: () => HeldKey;
  #claim: PendingClaim<Tx> | undefined;
  /** How the last transaction has ended. */
  #end: Begun['kind'] | undefined;
  #state: State<Tx>;
  /** Values that were rolled back with what they were captured before: every later try has the first one's (S6). */
  #captures: readonly NewStep[] = [];

  /** @param held gives the key as the run holds it now */
  constructor(settings: RunSettings<Tx>, held: () => HeldKey, claim: PendingClaim<Tx> | undefined) {
    this.#settings = settings;
    this.#held = held;
    this.#claim = claim;
    this.#state = claim ? { name: 'ready', open: claim.open } : { name: 'none' };
  }

  /** True while one is open or about to be, or the claim is yet to be committed: a renewal would wait for its lock, and find the key settled behind it. */
  get locksKey(): boolean {
    return this.#state.name !== 'none' || this.#claim !== undefined;
  }

  /** True if the claim was rolled back for certain, with all that came behind it: nothing of the key is there. */
  get isClaimRolledBack(): boolean {
    return this.#claim !== undefined && this.#end === 'rolled_back';
  }

  /** Called as a step begins, so that none runs beside a COMMIT. Rejects as `backgroundCommit` does. */
  async ready(): Promise<void> {
    this.#release();
    if (this.backgroundCommit) await this.backgroundCommit;
  }

  /**
   * Runs a phase, again where it conflicts with others (C4).
   *
   * @param joins it goes on in a transaction whose phase is finished
   * @returns the row that the run has ended in, where it has
   */
  async runPhase(phase: Phase<Tx>, { joins = false } = {}): Promise<EndRow | undefined> {
    const { innerRetries, deadline } = this.#settings;
    const putBack = asItWas(this.given);
    for (let attempt = 1; ; attempt++) {
      const open = await this.#openFor(joins);
      if (attempt > 1) putBack();
      // Rolled back with this phase, they are another run's to make again, from the top.
      const hasFinishedPhases = 'tx' in open && open.write.steps.some(({ kind }) => kind === 'atomic');
      const ended = 'tx' in open ? await this.#runIn(open, phase) : open;
      if (ended === 'kept open') return undefined;
      if (ended.kind === 'committed') return ended.row && { row: ended.row };
      // The claim was rolled back with a conflict. Somebody else has claimed the key or its thing before it was made again.
      if (ended.kind === 'existing') return { row: ended.row, isOthers: true };
      const isConflict = ended.kind === 'rolled_back' && ended.why === 'conflict';
      const mayRepeat = isConflict && innerRetries && !hasFinishedPhases;
      if (mayRepeat && (await mayTryAgain(attempt, deadline))) continue;
      throw errorOf(ended);
    }
  }

  /** Adds a captured value to what is open, and keeps that open. False where nothing is open. */
  addCapture(step: FinishedStep): boolean {
    if (!('open' in this.#state)) return false;
    this.#state.open.write.steps.push({ ...step, kind: 'capture' });
    this.keepOpen();
    return true;
  }

  /**
   * Keeps what is open for the function's next step, for as long as nothing but the function's own code can run: whatever asks
   * for a connection has it committed first, and so does the next turn of the event loop.
   */
  keepOpen(): void {
    if (this.#state.name !== 'ready') return;
    const { open } = this.#state;
    const commit = () => {
      this.backgroundCommit = this.commit().then(() => {
        this.backgroundCommit = undefined;
      });
      this.backgroundCommit.catch(() => {}); // the function's next step finds it
      return this.backgroundCommit;
    };
    const turn = setImmediate(commit);
    const removePendingCommit = open.addPendingCommit?.(commit);
    const release = () => {
      clearImmediate(turn);
      removePendingCommit?.();
    };
    this.#state = { name: 'kept open', open, release };
  }

  /**
   * Commits what is open, with a call that is about to be sent where one is given. False where nothing is open.
   *
   * @throws what has kept it from being committed: the run goes on from the top
   */
  async commit(start?: ForeignStart): Promise<boolean> {
    if (!('open' in this.#state)) return false;
    const { open } = this.#state;
    if (start) open.write.start = start;
    const ended = await this.#commit(open);
    if (ended.kind !== 'committed') throw errorOf(ended);
    return true;
  }

  /** Ends what is open of a run that has failed: what is finished in it stays, a phase that runs does not. Throws as `commit`. */
  async abandon(error: unknown): Promise<void> {
    await this.backgroundCommit;
    if (this.#state.name !== 'in phase') return void (await this.commit());
    const { open } = this.#state;
    open.rollBack(error);
    await this.#endOf(open);
  }

  /**
   * Makes a claim again that was rolled back with the first phase, so that a later run goes on as behind any other phase.
   * Rejects where somebody else has made it meanwhile.
   */
  async repeatClaim(): Promise<void> {
    if (!this.#claim) return;
    // The caller's time may be up: this is for whoever comes behind it.
    const begun = await openTransaction({ ...this.#settings, deadline: Number.POSITIVE_INFINITY }, this.#claim);
    if (!('tx' in begun)) throw new Error(`The key is not claimed: ${begun.kind}.`);
    begun.write.steps.push(...this.#captures);
    begun.commit();
    const claimed = await begun.ended;
    if (claimed.kind === 'committed') this.#claim.committed();
  }

  /** The transaction that a phase runs in from here on. Where none could be opened, why not. */
  async #openFor(joins: boolean): Promise<OpenTransaction<Tx> | Begun> {
    this.#release();
    const state = this.#state;
    if (state.name === 'ready' && (joins || state.open.write.steps.every(({ kind }) => kind === 'capture'))) {
      this.#state = { name: 'in phase', open: state.open };
      return state.open;
    }
    await this.commit();
    this.#state = { name: 'opening' };
    const begun = await openTransaction(this.#settings, this.#claim ?? { held: this.#held() }).catch((error) => {
      this.#state = { name: 'none' };
      throw error;
    });
    this.#state = 'tx' in begun ? { name: 'in phase', open: begun } : { name: 'none' };
    if ('tx' in begun) begun.write.steps.push(...this.#captures);
    return begun;
  }

  async #runIn(open: OpenTransaction<Tx>, phase: Phase<Tx>): Promise<Begun | 'kept open'> {
    const byItself = open.ended.then((ended) => ({ ended })); // by its own time, whatever the phase still waits for
    let done: Awaited<ReturnType<Phase<Tx>>> | { ended: Begun };
    try {
      done = await Promise.race([open.inside(() => phase(open.tx)), byItself]);
    } catch (error) {
      open.rollBack(error);
      return await this.#endOf(open);
    }
    if ('ended' in done) return await this.#endOf(open);
    this.#state = { name: 'ready', open };
    const { step, settle } = done;
    if (step) open.write.steps.push(step);
    if (settle) open.write.settle = settle;
    // A strict level may refuse the COMMIT, and the phase must then run again at once.
    const mayWait = !settle && open.addPendingCommit && this.#settings.options.isolationLevel !== 'Serializable';
    if (!mayWait) return await this.#commit(open);
    this.keepOpen();
    return 'kept open';
  }

  #commit(open: OpenTransaction<Tx>): Promise<Begun> {
    if (this.#state.name === 'committing') return this.#state.committed;
    this.#release();
    const committed = this.#commitOnce(open);
    this.#state = { name: 'committing', open, committed };
    return committed;
  }

  async #commitOnce(open: OpenTransaction<Tx>): Promise<Begun> {
    const { config } = this.#settings.engine;
    const { id, state: from } = open.held;
    open.commit();
    const ended = await this.#endOf(open);
    if (ended.kind !== 'committed') return ended;
    this.#claim?.committed();
    this.#claim = undefined;
    if (ended.row) {
      const { state: to, attempts: attempt, fingerprint } = ended.row;
      recordTransition(config, ended.row, { from, to, attempt, fingerprint });
    }
    for (const { kind, name: step } of open.write.steps) {
      if (kind === 'capture') continue;
      this.hasFinishedPhase = true;
      await config.onPoint?.('after-commit', { operation: id.operation, key: id.key, step });
    }
    return ended;
  }

  async #endOf(open: OpenTransaction<Tx>): Promise<Begun> {
    const isCurrent = () => 'open' in this.#state && this.#state.open === open;
    this.#end = undefined;
    try {
      const ended = await open.ended;
      this.#end = ended.kind;
      if (isCurrent()) this.#captures = ended.kind === 'rolled_back' ? capturedBeforePhases(open.write.steps) : [];
      return ended;
    } finally {
      if (isCurrent()) {
        this.#release(); // a phase may have returned while it was rolled back
        this.#state = { name: 'none' };
      }
    }
  }

  #release(): void {
    if (this.#state.name !== 'kept open') return;
    const { open, release } = this.#state;
    release();
    this.#state = { name: 'ready', open };
  }
}

function errorOf(ended: Begun): unknown {
  const error = 'error' in ended ? ended.error : undefined;
  if (ended.kind === 'rolled_back' && ended.why === 'error') return error;
  return new CodedError('unavailable', 'The database did not answer, or others were in the way; a later run goes on.', {
    cause: error,
  });
}

function capturedBeforePhases(steps: readonly NewStep[]): readonly NewStep[] {
  const first = steps.findIndex(({ kind }) => kind !== 'capture');
  return first === -1 ? steps : steps.slice(0, first);
}
