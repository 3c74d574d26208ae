import type { REPEATS, Tallied } from '../core/codes.ts';
import type { KeyState } from '../core/key-state.ts';
import type { KeyId } from '../core/scope.ts';
import type { KeyRow } from './rows.ts';

/**
 * The part of the port that stands behind an admin view: what is seen of all keys, and what a person may do to one.
 *
 * Every write is a compare-and-set on what the person has seen, and is recorded with its actor by the same statement, apart
 * from the key, which the record outlives: done twice it has one effect and one record. `changed`: the key is not as it was
 * seen; nothing was done. `refused`: it would not be safe; nothing was done. A database that cannot be asked is a `StoreUnavailableError`.
 */
export interface Oversight {
  /** A page of key rows, without fingerprints and stored answers. No filter reads the whole table by its pages. */
  list(filter: KeyFilter): Promise<KeyPage>;

  /** The totals of keys: of all, or of one tenant's. */
  overview(stuckAfterMs: number, tenant?: string): Promise<Overview>;

  /**
   * Finds the unfinished keys that no worker runs, of operations other than those that are `listed`: due for longer than
   * `overdueMs`, in which no completer has taken a key of their operation. Flags those whose foreign call may have been
   * done, each with an event that says `why`. Returns how many there are of each operation, and of how many a call may have
   * been done (`doubtful`), flagged now or before.
   */
  flagUnlisted(
    listed: readonly string[],
    how: { overdueMs: number; why: string },
  ): Promise<{ operation: string; count: number; doubtful: number; oldestKey: string }[]>;

  /** The server's version and role, and what it is set to promise. */
  databaseFacts(): Promise<DatabaseFacts>;

  /**
   * Adds to the tallies of the current ten minutes, all of it or nothing. Then to the events of keys that were answered again, as
   * far as the keys are there: where that cannot be written it is lost, and nobody is told.
   */
  addTallies(counts: readonly Tally[], repeats?: readonly Repeat[]): Promise<void>;

  /** The tallies of the ten minutes of `since` and of all behind it, oldest first. */
  tallies(since: Date): Promise<OutcomeBucket[]>;

  /** Deletes tallies older than 30 days. */
  reapTallies(): Promise<void>;

  /**
   * The outbox's events of a key's time that carry the derived key of `intent` and the step that `enqueue` gives an event
   * by itself. None where there is no outbox.
   *
   * @param intent what `derivedKey` hashes, up to the step
   */
  announced(time: Pick<KeyRow, 'claimedAt' | 'settledAt'>, intent: Uint8Array): Promise<AnnouncedEvent[]>;

  /**
   * Takes a key in progress from an executor whose lease is over, under a higher token, and makes it due; also one that
   * never had a lease, and was committed without its answer. `refused`: the lease is live, a transaction of the executor is
   * open, or a foreign call has begun at a provider that knows no key of it.
   */
  release(id: SeenRow, actor: string): Promise<ActResult>;

  /**
   * Erases the stored answer of a settled key, and what is stored of its steps. `refused`: it is not settled, or flagged for
   * a person, or a tombstone.
   */
  forget(id: SeenRow, actor: string): Promise<ActResult>;

  /**
   * Takes the flag off a settled key, with what was kept of its steps: a person has seen to it. From its expiry on it is
   * deleted as any other. `refused`: it is not settled.
   */
  acknowledge(id: SeenRow, actor: string): Promise<ActResult>;

  /**
   * `forget` for every settled key of a person, under all their names. Reads the whole table. Recorded in any case, also
   * where nothing was stored.
   *
   * @param conclude called in the transaction of it, which its failure rolls back; says what there is to record
   */
  erasePrincipal(
    person: Person,
    actor: string,
    conclude: (keys: ErasedKeys, tx: unknown) => Promise<Erased>,
  ): Promise<Erased>;

  /** Records what a person did that no other method records. */
  record(act: NewAuditRecord): Promise<void>;

  /** A page of what people did, newest first. */
  audit(filter: AuditFilter): Promise<AuditPage>;

  /** Deletes records older than that, at most `limit`; never one younger than 30 days. Returns how many. */
  reapAudit(retentionMs: number, limit: number): Promise<number>;
}

/** A key as a person saw it. */
export type SeenRow = KeyId & { fencingToken: number };

export type ActResult = 'recorded' | 'changed' | 'refused';

/** Which keys a list shows, in which order, and from where on. */
export interface KeyFilter {
  tenant?: string | undefined;
  principal?: string | undefined;
  operation?: string | undefined;
  /** Only keys of this name, to the letter. */
  key?: string | undefined;
  /** Only the key that holds this thing. */
  thing?: string | undefined;
  state?: KeyState | undefined;
  /** Only keys that were claimed then, or later. */
  claimedSince?: Date | undefined;
  /** Only keys that were claimed before that. */
  claimedBefore?: Date | undefined;
  /**
   * Finds keys, things and principals that begin with it. From three characters on also those that have it within, and keys by
   * the derived keys of their calls, and by the provider's references and words.
   */
  search?: string | undefined;
  /** Keys that `search` finds as well, of which a hundred count: those of the app's own rows, found by an order or an address. */
  also?: readonly KeyId[] | undefined;
  /** Only keys that `overview` counts as stuck. */
  stuck?: boolean | undefined;
  /** When an unfinished key counts as stuck, in milliseconds since its claim. Default 60,000. */
  stuckAfterMs?: number | undefined;
  /** By the time of the claim, or the soonest to expire first. Default `newest`. */
  sort?: 'newest' | 'oldest' | 'expires' | undefined;
  limit: number;
  offset: number;
}

/** A key row as lists have it: nothing of what was sent or answered. */
export type ListedKey = Omit<KeyRow, 'result' | 'fingerprint'> & {
  /** The thing that its operation is done once for, which no other key may do; null where it holds none. */
  thing: string | null;
  /** The code of what it was refused for, where it has failed; null elsewhere, and where that was erased. */
  reason: string | null;
  /** What the provider knows its foreign calls as, in their order; null where that is not known. */
  reference: string | null;
};

/** A page of rows, and whether there are more behind it. */
export interface KeyPage {
  rows: ListedKey[];
  hasMore: boolean;
  /**
   * On the first page for a thing or a text: things that are it, or begin with it, whose keys were deleted, and which stay done
   * (`holdFor: 'forever'`). At most 25; left out where there are none.
   */
  heldForever?: { tenant: string; operation: string; thing: string }[];
  /** Of a search: a table has more than a million rows, and no more were looked through. */
  isCut?: true;
}

/** The totals of keys. */
export interface Overview {
  /**
   * How many there are in each state; a state without keys is left out. From 20,000 rows on, what is settled may be as it
   * was ten seconds ago.
   */
  counts: Partial<Record<KeyState, number>>;
  /**
   * True if the counts of settled keys and the number of rows are estimates, from a sample of the table: from a million
   * rows on, as of the last ANALYZE. What is in progress or unknown is always counted.
   */
  isEstimated: boolean;
  /** Flagged for a person, or in progress or unknown, and: no lease, or lease over, or claimed longer ago than `stuckAfterMs`. */
  stuck: number;
  oldestInProgressAt: Date | null;
  /**
   * Calls of the last 30 days that were answered from a stored result instead of executing again (`replayed`). From the tallies.
   * Null of one tenant: they are counted of all together.
   */
  duplicatesPrevented: number | null;
  /** Of the key table with its indexes, as PostgreSQL counts them. Null of one tenant. */
  storage: { rows: number; bytes: number } | null;
}

/** A server's own description. */
export interface DatabaseFacts {
  /** Its name and version: `PostgreSQL 18.4`, `Aurora PostgreSQL 16.6`. */
  engine: string;
  isStandby: boolean;
  isReadOnly: boolean;
  hasFsync: boolean;
  /** `off`, `local`, `remote_write`, `on` or `remote_apply`. */
  synchronousCommit: string;
  /** `synchronous_standby_names`. Empty: no COMMIT waits for a standby. */
  standbyNames: string;
  /** How many stream from it. */
  standbys: number;
  /** How many of them COMMIT waits for; null where the role may not see that. */
  synchronousStandbys: number | null;
  /** On which keys were written in the last 30 days, as far as it was written down: the newest last. */
  timelines: Timeline[];
}

/** A timeline of PostgreSQL's: a promotion and a restore begin another one. */
export interface Timeline {
  number: number;
  /** To ten minutes. */
  firstSeenAt: Date;
  lastSeenAt: Date;
}

/** How many calls of an operation ended so. */
export interface Tally {
  operation: string;
  outcome: Tallied;
  count: number;
}

/** How often a key was answered again in one way. Times in milliseconds of `performance.now()`. */
export interface Repeat extends KeyId {
  type: (typeof REPEATS)[number];
  count: number;
  firstAt: number;
  lastAt: number;
}

/** A tally of ten minutes. `at`: their beginning. */
export interface OutcomeBucket extends Tally {
  at: Date;
}

/** An event in the outbox, without what it says. */
export interface AnnouncedEvent {
  eventId: string;
  type: string;
  createdAt: Date;
}

/** Somebody whose data is erased, by every principal they were. */
export interface Person {
  tenant: string;
  /** Their principal first, then their aliases. */
  names: readonly string[];
}

/** The result of an erasure among the kit's own rows. */
export interface ErasedKeys {
  /** How many keys had something to erase. */
  forgotten: number;
  /** How many of the person's keys are not settled, or flagged for somebody who must look: what that needs is kept until then. */
  unsettled: number;
  /** True if there are an outbox and an inbox, whose payloads stay. */
  hasMessages: boolean;
}

/** An erasure: how many rows it took, and what it left. */
export interface Erased extends Omit<ErasedKeys, 'hasMessages'> {
  /** How many rows of the app's own `onErase` has erased, by name. */
  erased: Readonly<Record<string, number>>;
  /** Data that may still name the person. */
  left: readonly string[];
}

/** One thing that a person did. Holds no payload, no result and no secret. */
export interface AuditRecord extends KeyId {
  at: Date;
  /** The person: a name of the app's. */
  actor: string;
  /** `verdict`, `retry`, `released`, `fenced`, `forgotten`, `acknowledged`, `reconciled`, `erased`, or a word of the app's own. */
  type: string;
  detail: Readonly<Record<string, string>> | null;
}

/** A record to be written. What it does not name of a key is empty. */
export type NewAuditRecord = Pick<AuditRecord, 'type' | 'actor'> & Partial<KeyId & Pick<AuditRecord, 'detail'>>;

/** Which records a list shows. */
export interface AuditFilter extends Partial<Record<keyof KeyId | 'actor' | 'type', string | undefined>> {
  limit: number;
  offset: number;
}

/** A page of records, and whether there are more behind it. */
export interface AuditPage {
  rows: AuditRecord[];
  hasMore: boolean;
}
