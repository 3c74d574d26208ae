import type { KeyId } from '../core/scope.ts';
import type { Leases } from './leases.ts';
import type { Oversight, Repeat } from './oversight.ts';
import type { Claim, Completion, ExecuteOptions, InDoubt, KeyRow, KeyWindow, Obstacle, RolledBack } from './rows.ts';

export type { Repeat, Tally } from './oversight.ts';
export {
  type Claim,
  type Completion,
  type Durability,
  type ExecuteOptions,
  GRACE_MS,
  type IsolationLevel,
  type KeyRow,
  type Setting,
} from './rows.ts';

/**
 * The PORT: what the engine needs of a database. `contract.testsuite.ts` says what any store must do, and every store
 * runs it. How BEGIN, claim, completion and COMMIT travel to the server is the store's own business.
 *
 * A duplicate and a lost race are values, never thrown. An unreachable database is a value of `execute`,
 * which knows whether something may have been committed, and a `StoreUnavailableError` of the others.
 */
export interface Store<Tx> extends Leases<Tx>, Oversight {
  /**
   * The same store, of which no question waits behind a deadline, in milliseconds of `performance.now()`. By itself each is
   * given up after some seconds. Executions have deadlines of their own.
   */
  until(deadline: number): Store<Tx>;

  /**
   * Claims the key and runs `run` in one transaction; what `run` resolves to is stored with the key, and everything
   * is committed together or not at all. Never runs `run` twice. A duplicate waits for another's uncommitted claim,
   * at most `claim.waitMs`, and never starts.
   */
  execute(claim: Claim, run: (tx: Tx) => Promise<Completion>, how: ExecuteOptions): Promise<ExecutionResult>;

  /**
   * Runs `run` for a key that has succeeded under an older schema version, and stores its answer in place of the old
   * one, in one transaction. Of several calls at once one runs; to the others the new row is `existing`. `locked`: no
   * such row.
   */
  rerun(
    id: KeyId & { schemaVersion: number },
    run: (tx: Tx) => Promise<Completion>,
    how: ExecuteOptions,
  ): Promise<ExecutionResult>;

  /** The committed row, read on the primary. */
  find(id: KeyId): Promise<KeyRow | undefined>;

  /** What is committed and in the way of a claim, read on the primary: the key's row, or what holds its thing. */
  findObstacle(id: KeyId & Pick<Claim, 'thing'>): Promise<Obstacle | undefined>;

  /** The thing that a key holds; null where it holds none, or has no row. */
  thingOf(id: KeyId): Promise<string | null>;

  /**
   * Finds what stands in the way of a key: a committed row, another's uncommitted claim (`locked`), or nothing. Learns it
   * by an insert that it rolls back. `absent` is a hint: it may be claimed a moment later.
   */
  probe(id: KeyId): Promise<Probed>;

  /**
   * Inserts the tombstone (S5): from then on the key never executes. Waits for an uncommitted claim, at most
   * `waitMs`, and loses to a committed row, which it returns. A minted key older than its window is not fenced: its
   * row may be gone, and a tombstone would claim that it never ran.
   */
  fence(fence: Fence): Promise<Fenced>;

  /**
   * Waits until the synchronous standbys have all that was committed before: all that the caller has read. Throws
   * `ConfigurationError` where the client cannot know.
   */
  awaitReplication(how: Omit<ExecuteOptions, 'beforeCommit'>): Promise<void>;

  /** Tells whether what a query of the user's own threw says that the database cannot be reached, or not in time. */
  isUnavailable(error: unknown): boolean;

  /**
   * Names the unique constraint that a query of the user's own has violated, by its table and columns where its name is not
   * known. Undefined for any other error, and where the constraint is one of the store's.
   */
  violatedConstraint(error: unknown): string | undefined;

  /** Records what machines noted about a key outside its ordinary way; each kind of event once per key and actor. */
  recordEvent(id: KeyId, event: Omit<KeyEvent, 'at'>): Promise<void>;

  /** Notes, with both, that a key of the same tenant and operation was answered by another one, which holds its thing. */
  recordFollower(holder: KeyId, follower: Pick<KeyId, 'principal' | 'key'>): Promise<void>;

  /** The records of a key, by machines and by people, oldest first. */
  events(id: KeyId): Promise<KeyEvent[]>;

  /** Which version of the kit's tables the database has, by part. */
  readSchema(): Promise<SchemaState[]>;

  /** Claims, completes and replays a made-up key as an execution does, and rolls it back: whether one can do its part here. Leaves nothing. */
  tryClaim(): Promise<TriedClaim>;
}

/** The result of a claim that is rolled back, and where it was made. Names are quoted where they must be. */
export interface TriedClaim {
  database: string;
  quotedDatabase: string;
  /** Server, database and key table in one text: equal for connections that see the same table. */
  place: string;
  user: string;
  keyTable: string | null;
  /** The rights that the user lacks on the kit's tables and sequences, as a GRANT has them. */
  lacking: { on: string; rights: string[] }[];
  /** Tables of which row-level security may hide rows from the user. */
  hiddenBy: string[];
  /** Whose transactions executions have: the kit's own, or Prisma's. */
  transactions: 'own' | 'interactive';
  /** Why they are not the kit's own, though nobody has asked for Prisma's. */
  whyNotOwn?: { message: string; expected: unknown };
  /** Why it is not seen where each query of the client goes, so that a handler that fails is never told as not executed. */
  whyUnproven?: { message: string; expected: unknown };
  /** Reads outside a transaction go to a standby: the client has the read-replica extension. The kit asks the primary. */
  readsStandby: boolean;
  /** The setting that makes transactions read-only where none says otherwise: a `source` of PostgreSQL's `pg_settings`. */
  readOnlyBy: string | null;
  /** The level of transactions where none says otherwise, if it is not READ COMMITTED, and where that is set, in the same words. */
  strictBy: { level: string; source: string } | null;
  /** The part that the database took without an error, and did not do. None: it did all. */
  ignored?: 'claim' | 'completion' | 'replay' | 'unique index';
  /** What would have been, or was, written past the transaction. None: all is in it. */
  escapes?: string;
  /** The server's own code (SQLSTATE) and words. None: the claim went through. */
  refused?: { state: string; says: string };
}

/** The tables that belong together: those of keys, and those of outbox and inbox, which an app may do without. */
export type SchemaPart = 'keys' | 'messaging';

/** The version that the database has of a part of the kit's tables, and the one that the kit needs. */
export interface SchemaState {
  part: SchemaPart;
  /** `newer` goes on working: changes are additive. `unmarked`: tables that no migration of the kit has made. */
  verdict: 'current' | 'newer' | 'older' | 'missing' | 'unmarked';
  /** The version that was found, or what there is instead. */
  existing: string;
  /** The version that this kit needs at least. */
  expected: string;
  /** Instructions, in sentences with their commands; none where nothing is to be done. */
  advice?: string;
}

/** How an execution ended. */
export type ExecutionResult =
  /** `run` ran and the database said that it committed. */
  { kind: 'committed'; row: KeyRow } | Obstacle | RolledBack | InDoubt;

export type Probed = { kind: 'absent' } | Exclude<Obstacle, { kind: 'expired' | 'early' | 'thing_done' }>;

export interface Fence extends KeyId, KeyWindow {
  waitMs: number;
  /** The person who gives it up, for the record that outlives the key. None: the client did. */
  actor?: string | undefined;
}

export type Fenced = { kind: 'fenced' } | Exclude<Obstacle, { kind: 'thing_done' }>;

/**
 * An event in a key's life besides its ordinary way, and who caused it. Holds no payload and no result. Of a key that was answered
 * again, with what is stored or with a code, `at` is the first time, and `detail` says how often (`times`) and when at `last`.
 */
export interface KeyEvent {
  type:
    | Repeat['type']
    | 'fenced'
    | 'followed'
    | 'answered_by'
    | 'unknown'
    | 'resolved'
    | 'needs_attention'
    | 'call_failed'
    | 'late_answer'
    | 'evidence'
    | 'contradicted'
    | 'set_aside'
    | 'thing_freed'
    | 'verdict'
    | 'retry'
    | 'released'
    | 'forgotten'
    | 'acknowledged';
  /** `client`, `executor`, `completer`, the name of an admin, or of a system that was heard. */
  actor: string;
  detail: Record<string, string> | null;
  at: Date;
}

/** The database could not be asked. Thrown by `find`, `probe`, `fence` and the admin reads, never by `execute`. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError';
}
