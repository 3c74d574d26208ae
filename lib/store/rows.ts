import type { Fingerprint } from '../core/fingerprint.ts';
import type { KeyState } from '../core/key-state.ts';
import type { KeyId } from '../core/scope.ts';
import type { Awaitable } from '../core/wait.ts';

// The shapes that the parts of the port share.

/** A key as it is stored. */
export interface KeyRow extends KeyId {
  state: KeyState;
  fencingToken: number;
  attempts: number;
  /** Null on a tombstone, which never saw a payload. */
  fingerprint: Fingerprint | null;
  /** The stored answer; null while there is none, or when it was erased. */
  result: string | null;
  schemaVersion: number;
  mintedAt: Date | null;
  claimedAt: Date;
  settledAt: Date | null;
  expiresAt: Date;
  /** Until when its executor alone may write; null where it runs in one transaction, and once it has settled. */
  leaseUntil: Date | null;
  /** When the completer looks at it; null: never, or a person must first. */
  nextAttemptAt: Date | null;
  /** The name of the last committed step of an operation in phases. */
  recoveryPoint: string | null;
  needsAttention: boolean;
  /** The trace of the run that claimed it, as W3C `traceparent`; null where nobody was tracing. */
  traceParent: string | null;
}

/** The window in which a key may be claimed. Judged by the database's clock, inside the statement (K3). */
export interface KeyWindow {
  /** The time a minted key carries; null for a key that was not minted here, whose time is ignored. */
  mintedAt: Date | null;
  windowMs: number;
  retentionMs: number;
}

export interface Claim extends KeyId, KeyWindow {
  fingerprint: Fingerprint;
  schemaVersion: number;
  /** How long to wait for another's uncommitted claim. 0: not at all. */
  waitMs: number;
  /**
   * The thing that the operation is done once for. In its tenant and operation one key at most holds a thing: from its claim
   * on, and for as long as it is there and no refusal has freed it. Another key's row decides this claim then.
   */
  thing?: string | undefined;
  /** The thing stays held when the key's row is deleted. */
  holdsForever?: boolean | undefined;
  /** The trace that this claim belongs to, as W3C `traceparent`; none where nobody is tracing. */
  traceParent?: string | undefined;
}

/** What is in the way of a claim. */
export type Obstacle =
  /** Someone else's row was there: the key's, or else that of another key which holds its thing. */
  | { kind: 'existing'; row: KeyRow }
  /** Its thing is done for good, and the key that did it is gone. */
  | { kind: 'thing_done' }
  /** Someone else's uncommitted claim, of the key or of its thing, outlasted `waitMs`. */
  | { kind: 'locked' }
  /** No row, and the minted key is outside its window: `expired`, or `early` when it comes from the future. */
  | { kind: 'expired' }
  | { kind: 'early' };

/** The end of an execution: the state it reaches and the answer to store. */
export interface Completion {
  state: 'succeeded' | 'failed';
  result: string;
}

/** How much later than its deadline a caller may be told, in milliseconds: what was begun is ended first. */
export const GRACE_MS = 100;

export interface ExecuteOptions {
  /** How long the transaction may take, in milliseconds, with the wait for the claim. */
  timeoutMs: number;
  /** How long to wait for a connection, in milliseconds. */
  maxWaitMs: number;
  isolationLevel?: IsolationLevel | undefined;
  /**
   * When nobody waits for the answer any more, in milliseconds of `performance.now()`: it comes a tenth of a second behind
   * that at the latest, whatever the database does. Default: never.
   */
  deadline?: number | undefined;
  /** `replicated`: COMMIT waits for the synchronous standbys, and is in doubt where that wait was cut short. */
  durability?: Durability | undefined;
  /** What is set for it before anything else runs in it, in that order: `role`, and settings of the app's. */
  begin?: readonly Setting[] | undefined;
  /** Called right before COMMIT is sent. */
  beforeCommit: () => Awaitable<void>;
}

/** A setting of the database's for one transaction: its name and its value. */
export type Setting = readonly [name: string, value: string];

/** The durability that an answer promises: see `OperationOptions.durability`. */
export type Durability = 'local' | 'replicated';

export type IsolationLevel = 'ReadCommitted' | 'RepeatableRead' | 'Serializable';

/**
 * `conflict`: a serialization failure or a deadlock; running again may succeed. `unavailable`: the database could not
 * be reached, or time ran out. `error`: anything else, most often thrown by the handler.
 */
type RollbackReason = 'conflict' | 'unavailable' | 'error';

/**
 * Nothing was committed by it, for certain. `at`: what failed. Behind `claim` the claim had been made, so no row of the key
 * stood, and what was rolled back is all there was.
 */
export interface RolledBack {
  kind: 'rolled_back';
  error: unknown;
  why: RollbackReason;
  at: 'claim' | 'run' | 'commit';
}

/** COMMIT was sent and no answer came: it may or may not have been committed. */
export interface InDoubt {
  kind: 'in_doubt';
  error: unknown;
}
