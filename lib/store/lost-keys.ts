import type { Fingerprint } from '../core/fingerprint.ts';
import type { KeyId } from '../core/scope.ts';
import type { FinishedStep, ForeignStart } from './leases.ts';
import type { NewAuditRecord } from './oversight.ts';
import type { Claim } from './rows.ts';

/**
 * Enters keys that the database has lost, in a failover or by a restore, on the word of those outside who still know them.
 * Beside the port, which a store has without it. A database that cannot be asked is a `StoreUnavailableError`.
 */
export interface LostKeys<Tx> {
  /**
   * Inserts the key with its steps and the record `reconciled`, all of it or nothing, also outside its window. What is
   * there wins. `existing`: the key has a row. `locked`: somebody executes the key or its thing at this moment. `held`:
   * another key has its thing, and this one would be gone on with; an answer is entered all the same, without the thing.
   *
   * @param by the person who enters it, and on whose word
   */
  enterLost(lost: LostKey, by: Pick<NewAuditRecord, 'actor' | 'detail'>): Promise<EnteredLost>;

  /**
   * In a transaction of the caller: the events that it has announced. To be asked last: where there is no outbox, the
   * transaction has failed.
   */
  announcedIn(tx: Tx): Promise<string[]>;

  /** In a transaction of the caller: records what a person did, together with what else it does. */
  recordIn(tx: Tx, act: NewAuditRecord): Promise<void>;

  /** Which of these events the outbox has, by their ids. None where there is no outbox. */
  knownEvents(ids: readonly string[]): Promise<string[]>;
}

export type EnteredLost = 'entered' | 'existing' | 'locked' | 'held';

/** A key as it is entered: to be gone on with at once, behind what is known of it; or with its answer. */
export interface LostKey extends KeyId, Pick<Claim, 'schemaVersion' | 'retentionMs' | 'thing' | 'holdsForever'> {
  /** Null where nobody knows the payload. */
  fingerprint: Fingerprint | null;
  /** `input` is sealed. */
  is: { input: Uint8Array; steps: readonly LostStep[] } | { result: string };
}

/** A step that the database has lost: a captured value, or a foreign call that was done, or may have been. */
export type LostStep = (FinishedStep & { kind: 'capture' }) | LostCall;

interface LostCall extends Required<ForeignStart> {
  kind: 'foreign';
  /** Null: it may have been done. */
  result: string | null;
  /** The earliest time at which it can have been sent, and from which on the provider remembers its key; null: nobody knows. */
  notBefore: Date | null;
}
