/**
 * The port of the outbox and the inbox: what messaging needs of a database. Beside `Store`, because an app may have either alone.
 *
 * The database's clock alone judges what is due and which lease is over. A database that cannot be
 * asked is a `StoreUnavailableError`.
 */
export interface OutboxStore<Tx> extends MessageStore {
  /**
   * Writes the event and its deliveries in the caller's transaction, numbers it in its aggregate, and has the relay
   * woken when that transaction commits. Waits for another transaction that has numbered in this aggregate.
   *
   * @returns undefined: an event with this derived key is there already, and nothing was written. In the transaction of an
   *   operation that runs again: the event of its earlier execution
   */
  insertEvent(tx: Tx, event: NewEvent): Promise<Enqueued | undefined>;

  /**
   * Takes heads that are due, under a higher token: at most `limit`, first those that a relay has looked at before, at most
   * `ofDue`, then those of aggregates behind `after` in their order. Of several relays at once one gets a head, and none waits.
   * Passes over few that it does not take, so it may find none though there are some: the next look goes on behind its
   * `after`, and undefined says that no other is there.
   */
  takeHeads(
    destination: string,
    leaseMs: number,
    look: { limit: number; ofDue: number; after: string },
  ): Promise<{ heads: Delivery[]; after: string | undefined }>;

  /** Marks it delivered. With `leaseMs`, also takes what is next in its aggregate. False: the lease was lost. */
  markDelivered(taken: Taken, leaseMs: number | null): Promise<{ marked: boolean; next: Delivery | undefined }>;

  /** Puts it off after a failed attempt. False: the lease was lost. */
  postponeDelivery(taken: Taken, pauseMs: number, error: string): Promise<boolean>;

  /** Gives it up: `dead` blocks its aggregate until a person looks, `skipped` does not. False: the lease was lost. */
  giveUp(taken: Taken, as: 'dead' | 'skipped', error: string): Promise<boolean>;

  /** Gives it back as if it had not been taken. With `stop`, nothing more is taken for this destination. */
  giveBack(taken: Taken, stop: string | null): Promise<boolean>;

  /**
   * Sends what was given up again, from its first attempt on. With `settledAt`, only what was given up on at that time. Audited.
   * False: it was not given up.
   */
  requeue(destination: string, eventId: string, actor: string, settledAt?: Date): Promise<boolean>;

  /**
   * The same for at most `limit` dead letters of a destination, in the order of their aggregates: those behind the `last` batch that
   * were dead when the first one began. Undefined: there are none.
   */
  requeueDead(destination: string, actor: string, limit: number, last?: ActedBatch): Promise<ActedBatch | undefined>;

  /** Lets the aggregate of a dead letter go on without it. `settledAt` as above. Audited. False: it is no dead letter. */
  skip(destination: string, eventId: string, actor: string, settledAt?: Date): Promise<boolean>;

  /** Skips, in such batches, all that is under way or dead for a destination that is no more. Audited. */
  abandon(destination: string, actor: string, limit: number, last?: ActedBatch): Promise<ActedBatch | undefined>;

  /** Lets a stopped destination go on. Audited. False: it was not stopped. */
  resume(destination: string, actor: string): Promise<boolean>;

  stops(): Promise<Stop[]>;

  /** Deliveries, newest event first, without payloads. */
  list(filter: DeliveryFilter): Promise<DeliveryRow[]>;

  /** One event with its payload, its deliveries and what was done to it. */
  find(eventId: string): Promise<FoundEvent | undefined>;

  /** Deletes events older than `retentionMs` of which nothing is under way or dead. At most `limit`; returns how many. */
  reap(retentionMs: number, limit: number): Promise<number>;
}

/** What is asked of all messages of a kind at once. */
interface MessageStore {
  /** How many are under way, have failed or are dead, and since when. */
  open(): Promise<Open[]>;

  /** Deletes records of what people did that are older than a year: they outlive their message. Returns how many. */
  reapRecords(limit: number): Promise<number>;
}

/** The name under which the job runner knows the job that wakes the relay. Stored in its queue, so never rename it. */
export const RELAY_TASK = 'oncekit_relay';

export interface InboxStore<Tx> extends MessageStore {
  /**
   * One transaction: the row that says "processed", then `run`, then its result. Waits for another transaction that
   * processes the same event. `existing`: it is there already, has failed under another payload, or was `taken` and is not the
   * taker's any more, and `run` did not run.
   */
  receive(event: Receipt, run: (tx: Tx) => Promise<string | null>, how: ReceiveOptions): Promise<Receiving>;

  /**
   * Counts a failed attempt, after its transaction was rolled back; one that was `taken` is counted already. Changes nothing of
   * an event that is processed or dead, has been taken since, or, where it was not taken, has failed under another payload or
   * is not due yet; returns the row as it is.
   */
  recordFailure(
    event: Receipt,
    /** `payload` for the next try, null where it is not kept; one pause for each attempt but the last: beyond them it is dead. */
    failure: { payload: string | null; pausesMs: number[]; error: string; taken?: number | undefined },
  ): Promise<KnownRow>;

  /** Records that an event came with another payload than the one that counts. */
  recordMismatch(event: Receipt): Promise<void>;

  /** A failed event of this source that is due. Counts the attempt; nobody else is given the event for `leaseMs`. */
  takeFailed(source: string, leaseMs: number): Promise<FailedEvent | undefined>;

  /** Uncounts an attempt that never was, unless somebody has taken the event since. Its pause stays. */
  giveBack(taken: FailedEvent): Promise<void>;

  /** Lets a dead letter be tried again, from its first attempt on. Audited. False: it is no dead letter. */
  requeue(source: string, eventId: string, actor: string): Promise<boolean>;

  /** Received events, newest first, without payloads and results. */
  list(filter: InboxFilter): Promise<InboxRow[]>;

  /** One received event with its payload, its result and what was done to it. */
  find(source: string, eventId: string): Promise<FoundReceived | undefined>;

  /** Deletes processed events past their retention; never one that failed or is dead. Returns how many. */
  reap(limit: number): Promise<number>;
}

/** A batch of deliveries that a person's act was done to, and how far it has come. */
export interface ActedBatch {
  count: number;
  /** Of its last delivery. */
  aggregate: string;
  sequence: number;
  /** When the first batch began, by the database's clock. */
  startedAt: Date;
}

/** An event as it was numbered. */
export interface Enqueued {
  eventId: string;
  sequence: number;
}

export interface NewEvent {
  id: string;
  aggregate: string;
  type: string;
  /** JSON. */
  payload: string;
  headers: Record<string, string>;
  derivedKey: string;
  destinations: readonly string[];
  /** True if a job is to wake the relay, where the job runner is installed. */
  wakes: boolean;
}

/** Names a delivery as its relay holds it. */
export interface Taken {
  eventId: string;
  destination: string;
  fencingToken: number;
}

/** An event as it was written. */
interface StoredEvent extends Enqueued, Omit<NewEvent, 'id' | 'destinations' | 'wakes'> {
  createdAt: Date;
}

/** An event as a relay has taken it. */
export interface Delivery extends Taken, StoredEvent {
  /** This one included. */
  attempts: number;
}

/** How far a delivery has come. `dead` waits for a person, and holds up its aggregate. */
export type DeliveryState = 'pending' | 'delivered' | 'dead' | 'skipped';

/** A delivery as the admin view lists it. */
export interface DeliveryRow extends Omit<Delivery, 'fencingToken' | 'payload' | 'headers' | 'derivedKey'> {
  state: DeliveryState;
  nextAttemptAt: Date | null;
  lastError: string | null;
  settledAt: Date | null;
  /** The event that goes out before it: the first open one of its aggregate. A dead letter there blocks it. */
  waitsFor: { eventId: string; sequence: number; state: 'pending' | 'dead' } | null;
}

/** A delivery as the page of its event shows it. */
export interface FoundDelivery extends DeliveryRow {
  /** How many events of its aggregate wait behind it. Counted up to 1,000; 1,001 says "more". */
  behind: number;
}

/** Which deliveries a list shows, and from where on. */
export interface DeliveryFilter {
  state?: DeliveryState;
  destination?: string;
  limit: number;
  offset: number;
}

/** An act on a message besides its ordinary way, by a person or by the kit. */
export interface MessageRecord {
  /** requeued | skipped | abandoned | stopped | resumed | payload_mismatch */
  type: string;
  peer: string;
  actor: string;
  at: Date;
}

/** An event of the outbox with all that is known of it. */
export interface FoundEvent extends StoredEvent {
  deliveries: FoundDelivery[];
  records: MessageRecord[];
}

/** Unsettled messages; `peer` is the destination or the source. */
export interface Open {
  peer: string;
  state: 'pending' | 'failed' | 'dead';
  count: number;
  oldestAt: Date;
}

/** A destination that wants nothing more, and why. Its events wait until a person resumes it. */
export interface Stop {
  destination: string;
  reason: string;
  at: Date;
}

/** An event as it was received. */
export interface Receipt {
  source: string;
  eventId: string;
  /** SHA-256 of what counts of its payload. */
  payloadHash: Uint8Array;
}

interface ReceiveOptions {
  /** The number of the attempt that it was taken for, with the payload that counts: nothing is compared or counted. */
  taken?: number | undefined;
  timeoutMs: number;
  retentionMs: number;
  /** Called when the row is written, and before COMMIT. For tests. */
  onPoint: (point: 'claimed' | 'handled') => Promise<void>;
}

export type Receiving =
  | { kind: 'processed' }
  /** Processed, dead, failed under another payload, or somebody else's by now. */
  | { kind: 'existing'; row: KnownRow }
  /** Nothing is committed, as far as can be known: `failed` finds out. */
  | { kind: 'failed'; error: unknown; isConflict: boolean };

/** The state of a received event. `dead` waits for a person. */
export type InboxState = 'processed' | 'failed' | 'dead';

/** A received event as the inbox remembers it. */
export interface InboxRow extends Receipt {
  state: InboxState;
  /** JSON; null where there is none, or in a list. */
  result: string | null;
  attempts: number;
  mismatches: number;
  lastError: string | null;
  receivedAt: Date;
  processedAt: Date | null;
  nextAttemptAt: Date | null;
}

/** The row of an event that has just been delivered. */
export interface KnownRow extends InboxRow {
  /** Its payload is there, so that it can be run again without its sender. */
  isKept: boolean;
}

/** True for an event that has come with the payload that counts. */
export function isSamePayload(row: Pick<KnownRow, 'payloadHash'>, event: Pick<Receipt, 'payloadHash'>): boolean {
  return Buffer.from(row.payloadHash).equals(event.payloadHash);
}

/** A received event with all that is known of it. */
export interface FoundReceived extends InboxRow {
  /** JSON; null once it is processed, and where it could not be kept. */
  payload: string | null;
  records: MessageRecord[];
}

/** A failed event that was taken to be run again; its attempts count this one. */
export type FailedEvent = Pick<InboxRow, 'source' | 'eventId' | 'attempts'> & { payload: string };

/** Which received events a list shows, and from where on. */
export interface InboxFilter extends Pick<DeliveryFilter, 'limit' | 'offset'> {
  state?: InboxState;
  source?: string;
}
