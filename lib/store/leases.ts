import type { KeyState } from '../core/key-state.ts';
import type { KeyId } from '../core/scope.ts';
import type { Evidence, Heard, LateAnswer, SeenCall, Verdict } from './evidence.ts';
import type { ActResult } from './oversight.ts';
import type { Claim, Completion, ExecuteOptions, InDoubt, KeyRow, Obstacle, RolledBack } from './rows.ts';

/**
 * The part of the port that operations in phases need: a key that is claimed in a transaction of its own, and held
 * under a lease. Whether a lease has expired is judged by the database's clock.
 *
 * Every write names the state and the fencing token that it expects, in its own statement or its own transaction: an
 * executor that was overtaken changes nothing and gets a `LeaseLostError`. A database that cannot be asked is a
 * `StoreUnavailableError`, except where a union says otherwise.
 */
export interface Leases<Tx> {
  /**
   * Claims the key, runs `run` in the transaction of the claim, and commits both with what `run` resolves to. Never runs
   * it twice, nor where the key is not to be had. Waits for another's uncommitted claim, at most `claim.waitMs`.
   */
  begin(claim: LeasedClaim, run: Work<Tx>, how: ExecuteOptions): Promise<Begun>;

  /**
   * Takes over a key whose lease has expired, under a higher token, or an `unknown` one that is due to be asked about,
   * under the same. Undefined: it is not to be had now. Of several calls at once one gets it, and none waits.
   *
   * @param early also when a failed attempt has asked for a pause that is not over
   */
  takeOver(id: KeyId, leaseMs: number, early: boolean): Promise<HeldKey | undefined>;

  /** `takeOver` for whatever is due: of each operation so many, the longest due first. */
  takeDue(shares: readonly { operation: string; most: number }[], leaseMs: number): Promise<HeldKey[]>;

  /**
   * Prolongs the lease. The completer's next look, where it was put off for longer, stays put off. False: it is no longer
   * this executor's.
   */
  renew(held: HeldKey, leaseMs: number): Promise<boolean>;

  /**
   * One transaction of the executor: checks the token first, which also keeps others from taking the key over until
   * it ends; then runs `run`; then writes what that resolves to.
   */
  transact(held: HeldKey, leaseMs: number, run: Work<Tx>, how: ExecuteOptions): Promise<Transacted>;

  /** Writes a captured value as a finished step. */
  recordCapture(held: HeldKey, leaseMs: number, step: FinishedStep): Promise<void>;

  /**
   * Writes down that a foreign call is about to be sent, and what. A second time: that it is sent again, and a refusal and a
   * verdict of the time before are void.
   */
  startForeign(held: HeldKey, leaseMs: number, call: ForeignStart): Promise<Step>;

  /** Writes down what a foreign call came to. */
  finishForeign(held: HeldKey, leaseMs: number, step: FinishedCall): Promise<void>;

  /**
   * Leads an `unknown` key back to `in_progress` under a higher token, with the result that was found in the same
   * statement; with null it is to be sent again.
   */
  resolve(held: HeldKey, leaseMs: number, step: FinishedCall | { name: string; result: null }): Promise<HeldKey>;

  /**
   * Writes down that the last send of a started call has proved that nothing was done, and what was refused for good with it.
   *
   * @param said the refusal, in its stored form; `coversAll`: nor has any send before it done anything
   */
  recordNotExecuted(
    held: HeldKey,
    leaseMs: number,
    name: string,
    said?: { refusal: string; coversAll: boolean },
  ): Promise<void>;

  /**
   * Lets go of the lease after a failed attempt: a retry may go on at once, the completer after the pause. Returns
   * whether a person is asked to look at the key.
   */
  suspend(held: HeldKey, put: PutOff): Promise<boolean>;

  /** The same for the completer alone, and the lease goes on: in case that the run comes to no end. */
  postpone(held: HeldKey, put: PutOff): Promise<boolean>;

  /**
   * Writes that a foreign call's outcome cannot be learned now. `askAfterMs` null: nobody can be asked, a person must
   * find out. Also for a key that is `unknown` already and stays so.
   */
  markUnknown(held: HeldKey, how: { askAfterMs: number | null } & Pick<PutOff, 'attentionAfterMs'>): Promise<KeyRow>;

  /**
   * A send was answered when nobody waited for it any more: its executor had lost the key, or given the send up. Recorded as an
   * event, once for each run and what it says.
   *
   * A key that is not settled is due at once, under a higher token; under a live lease the event alone is written. A result
   * voids the verdicts "it failed" and "send it again", and the proof that no send did anything, also those that a live
   * executor acts upon, which loses the key. A key that has ended in a refusal, with the call unanswered, is flagged for a
   * person, under a higher token, and so is one whose call is known by another reference. The receipt is written beside a call that
   * is done, or whose key has ended, and was not erased.
   */
  recordLateAnswer(id: KeyId, answer: LateAnswer): Promise<void>;

  /** The steps of a key, in their order. */
  steps(id: KeyId): Promise<Step[]>;

  /**
   * What a person goes by who judges a key's started foreign call. `revision` tells as text which it is, how often and when it was
   * sent, what that has proved, and how much was heard and judged of it; empty where there is no key. `heard` is what a verdict has
   * to name that overrules it: the reference of a proof, or what was said last.
   */
  asSeen(id: KeyId): Promise<{ revision: string; heard: string | null }>;

  /**
   * Records a person's verdict on a key's started foreign call; the next run, which is due at once, acts upon it. For a key that is
   * `unknown`, or flagged and at rest. `changed`: of another revision. `refused`: it overrules what was heard and does not name it.
   */
  recordVerdict(id: SeenCall, verdict: Verdict, actor: string): Promise<ActResult>;

  /** Lets the completer look at a key at once, also one that it has given up on. Recorded with it. */
  retryNow(id: KeyId & { fencingToken: number }, actor: string): Promise<boolean>;

  /**
   * In a transaction of the caller: something was heard from elsewhere about a key. Recorded as an event, and an open key is due at
   * once, also one that was given up on; under a live lease the event alone. "It failed" and "send it again", said before, are void,
   * and an executor that acts upon one loses the key. Of a proof the next run makes the result, and until then nothing is sent.
   */
  recordEvidence(tx: Tx, id: KeyId, said: Evidence, actor: string): Promise<Heard>;

  /**
   * How many keys are not settled, or settled and flagged for a person, by operation and state. Takes some 30 ms,
   * however many are settled, so that it can be asked often; longer where many are flagged.
   *
   * @param stuckAfterMs how old a key must be to count as stuck that nobody has given up on
   */
  countOpen(stuckAfterMs: number): Promise<OpenCount[]>;

  /** Deletes settled rows past their retention, at most `limit`; never one that is flagged. Returns how many. */
  reapKeys(limit: number): Promise<number>;
}

export interface LeasedClaim extends Claim {
  leaseMs: number;
  /** The fencing token that the key begins with: the executor's own, also where it claims the key once more. */
  firstToken: number;
  /** The sealed input. */
  input: Uint8Array;
}

/** `committed`: the key is this executor's, or settled already. */
export type Begun = Transacted | Obstacle;

/** A transaction of the executor, to whoever runs in it. */
export interface Opened<Tx> {
  readonly tx: Tx;
  readonly held: HeldKey;
  /** Runs something so that its queries are the transaction's, as those of the function that was given this are. */
  inside<T>(work: () => T): T;
  /**
   * For a transaction that is ready to be committed and stays open: whatever asks for a connection from now on has it
   * committed first, and waits for that. Returns what ends that. None where queries cannot be made to wait.
   */
  readonly addPendingCommit: ((commit: () => Promise<unknown>) => () => void) | undefined;
}

/** Runs in a transaction of the executor, and says what that is to end in. */
export type Work<Tx> = (opened: Opened<Tx>) => Promise<Write>;

/** A key as its executor holds it. */
export interface HeldKey extends Readonly<Pick<KeyRow, 'fencingToken' | 'schemaVersion' | 'traceParent'>> {
  readonly id: KeyId;
  readonly state: 'in_progress' | 'unknown';
  /** How often it was taken up, this time included. */
  readonly attempts: number;
  /** True if a person was asked to look at it before. */
  readonly needsAttention: boolean;
  readonly input: Uint8Array | null;
  /** The steps that were there when it was taken up. */
  readonly steps: readonly Step[];
}

/** The open keys of one operation in one state. Of those that are settled, all are flagged for a person. */
interface OpenCount {
  operation: string;
  state: KeyState;
  count: number;
  /** How many of them nobody drives on, or wait for a person. */
  stuck: number;
  oldestAt: Date;
}

export type StepKind = 'atomic' | 'foreign' | 'capture';

/** A step as it is stored. */
export interface Step {
  name: string;
  position: number;
  kind: StepKind;
  state: 'started' | 'done';
  /** Null once the key has settled, unless a person must see it. Of a started call: its refusal, in the stored form, or null. */
  result: string | null;
  /** The token of the executor that wrote it last. */
  fencingToken: number;
  /** From here on: of foreign calls alone. */
  arguments: Uint8Array | null;
  derivedKey: string | null;
  sends: number;
  /** How many of these sends proved that nothing was done. All of them: nothing is in doubt. */
  notExecuted: number;
  /**
   * Milliseconds since the first send that may have arrived, and since the last one, by the database's clock when the
   * step was read.
   */
  sinceFirstSentMs: number | null;
  sinceLastSentMs: number | null;
  /** How long the provider remembers the key of the first of these sends from then on; null where that relied on none. */
  rememberedForMs: number | null;
  firstSentAt: Date | null;
  finishedAt: Date | null;
  verdict: Verdict['kind'] | null;
  /**
   * What the provider knows the call as: of one that is done by its receipt; else by a person where the verdict is that it succeeded, or
   * by a proof.
   */
  reference: string | null;
  /** How much it was, by its receipt. */
  amount: string | null;
  /** What its result is: the answer to a send, what a look-up found, or what was made of a reference. Null before, and of an older kit. */
  knownBy: 'answer' | 'lookup' | 'reference' | null;
}

/** Tells whether a started call may have been done: some send of it did not prove the contrary. */
export function isDoubtful({ sends, notExecuted }: Pick<Step, 'sends' | 'notExecuted'>): boolean {
  return sends > notExecuted;
}

export interface FinishedStep extends Pick<Step, 'name' | 'position'> {
  result: string;
}

/** A foreign call with its result, and its receipt. */
export interface FinishedCall extends FinishedStep {
  knownBy: NonNullable<Step['knownBy']>;
  reference?: string | undefined;
  amount?: string | undefined;
}

export interface ForeignStart extends Pick<Step, 'name' | 'position'> {
  arguments: Uint8Array;
  derivedKey: string;
  /** For how long the provider remembers the derived key, in milliseconds. Default 0: it honours none. */
  providerKeyTtlMs?: number | undefined;
}

/** When the completer looks again, and how old the key may be before a person is asked to look at it, too. */
export interface PutOff {
  /** Null: never again, a person must. */
  pauseMs: number | null;
  attentionAfterMs: number;
}

/** A transaction of the executor ends in this, all of it in one statement under the token. Nothing: the lease alone. */
export interface Write {
  /** Finished steps, in their order. */
  steps?: readonly NewStep[] | undefined;
  /** A foreign call that is about to be sent for the first time. */
  start?: ForeignStart | undefined;
  /** Settles the key. */
  settle?: LeasedCompletion | undefined;
}

export interface NewStep extends FinishedStep {
  kind: 'atomic' | 'capture';
}

export type LeasedCompletion = Completion & {
  /** Of the executor that finishes the key, which need not be the one that claimed it. */
  schemaVersion: number;
  /** Foreign calls that a refusal leaves uncompensated: what is stored of them stays, and the key is flagged and says why. */
  uncompensated?: { steps: readonly string[]; why: string };
};

export type Transacted =
  /** `row` where it settled the key. */
  { kind: 'committed'; row?: KeyRow } | Omit<RolledBack, 'at'> | InDoubt;
