import { type Backoff, equalJitter } from '../core/backoff.ts';
import { untilNoneIsLeft } from '../core/batches.ts';
import { type Duration, toMs } from '../core/duration.ts';
import { ConfigurationError } from '../core/errors.ts';
import {
  type FoundReceived,
  type InboxFilter,
  type InboxRow,
  type InboxStore,
  isSamePayload,
  type KnownRow,
  type Open,
  type Receipt,
} from '../store/messages.ts';
import { countReception, gaugeOpen } from '../telemetry/messages.ts';
import { inSpan, markFailed } from '../telemetry/span.ts';
import { OneAtATime } from './one-at-a-time.ts';
import { describe } from './publisher.ts';
import { type EventName, logReport, type OnReport, quietly } from './report.ts';
import { assertName, hashOf, jsonResult, keepable } from './stored-payload.ts';

/** Moments of a reception at which a process may die; tests kill it there. */
export type InboxPoint = 'claimed' | 'handled' | 'committed';

/** An event as it arrives, with its sender proven (a signature, a private queue). */
export interface ReceivedEvent {
  /** Who sends it, such as `stripe`: ids of one sender are none of another's. */
  source: string;
  /** The sender's name for it, the same in every delivery. */
  eventId: string;
  payload: unknown;
}

/** What an event does, in one transaction with the row that says that it was done. */
export type Effect<Tx, R> = (tx: Tx, event: ReceivedEvent) => Promise<R>;

/**
 * What became of an event. `processed` and `replayed` are to be acknowledged. Of what is not done, `isKept` says whether
 * its payload is kept: without it only the sender can repeat it, and an acknowledgement would lose it.
 */
export type Received<R> =
  | { kind: 'processed'; result: R }
  /** It was processed before: its result. `differs`: under another payload than this one. */
  | { kind: 'replayed'; result: R; differs: boolean }
  /**
   * Nothing was done, and it is tried again: by the sender's next delivery, or by `retryDue`. Under another payload than
   * the one that failed first, that one is; the mismatch is recorded.
   */
  | { kind: 'failed'; error: unknown; attempts: number; retryAfterMs: number; isKept: boolean }
  /** Nothing was done, and only a person can have it tried again. */
  | { kind: 'dead'; error?: unknown; attempts: number; isKept: boolean };

/** How events of one source are compared, and what they do. */
export interface SourceOptions<Tx> {
  /** The part of the payload that must be the same in every delivery. Left out: all of it. */
  compare?: (payload: never) => unknown;
  /** What its events do; with it, `receiveOnce` needs no second argument, and failed events can be run again. */
  handle?: Effect<Tx, unknown>;
}

/** The settings of an inbox on any store. */
export interface InboxSettings<Tx> {
  sources?: Record<string, SourceOptions<Tx>>;
  /** How long a processed event is remembered: no shorter than its sender repeats it. Default 30 days. */
  retention?: Duration;
  /** How often an event is tried before it is a dead letter. Default 10. */
  attempts?: number;
  /** Between attempts of `retryDue`. Default: from 1 s, doubled up to 1 h, half of it at random. */
  backoff?: Backoff;
  /** How long the effect may take. Default 5000 ms. */
  timeoutMs?: number;
  onReport?: OnReport;
  /** Called at each moment at which a crash matters. For tests. */
  onPoint?: (point: InboxPoint, event: EventName) => void | Promise<void>;
  /** Between 0 and 1. */
  random?: () => number;
}

/** What was received, each event taking effect once. */
export interface Inbox<Tx> {
  /** The names of its configured sources. */
  readonly sources: readonly string[];
  /**
   * Lets an event take effect once, however often it arrives, in whatever order, in any number of processes: the effect
   * and the row that remembers it are committed together. The result is kept as JSON and answered to repetitions.
   *
   * @throws StoreUnavailableError when the database cannot be asked: do not acknowledge
   */
  receiveOnce<R>(event: ReceivedEvent, run?: Effect<Tx, R>): Promise<Received<R>>;
  /** Runs failed events again that are due, once, for the sources that have a `handle`. In any number of processes. */
  retryDue(options?: { limit?: number; signal?: AbortSignal }): Promise<Retried>;
  /** Lets a dead letter be tried again. Audited. False: it is none. */
  requeue(event: { source: string; eventId: string }, actor: string): Promise<boolean>;
  /** Received events without payloads and results, newest first. */
  list(filter: InboxFilter): Promise<InboxRow[]>;
  /** One event with its payload and its result as they are: redact them before you show them. */
  find(event: { source: string; eventId: string }): Promise<FoundReceived | undefined>;
  /** How many events have failed or are dead, by source, and since when: for alarms. */
  open(): Promise<Open[]>;
  /** The same as OpenTelemetry gauges, `inbox.open` and `inbox.oldest_open_seconds`. As the outbox's. */
  gauge(): () => void;
  /** The reaper, once: deletes processed events past the retention; never a failed or dead one. Returns how many. */
  reap(options?: { batch?: number; signal?: AbortSignal }): Promise<number>;
}

/** What a pass over failed events came to. */
export interface Retried {
  taken: number;
  processed: number;
  failed: number;
  dead: number;
}

const MAX_CONFLICTS = 3;
const LEASE_MS = 30_000;

/**
 * An inbox on a store.
 *
 * @throws ConfigurationError for settings that cannot be used
 */
export function makeInbox<Tx>(store: InboxStore<Tx>, options: InboxSettings<Tx>): Inbox<Tx> {
  const { sources = {}, attempts = 10, timeoutMs = 5000, random = Math.random } = options;
  const { backoff = { baseMs: 1000, capMs: 3_600_000 }, onPoint = () => {} } = options;
  const retentionMs = toMs(options.retention ?? '30d', 'retention');
  if (!(Number.isInteger(attempts) && attempts >= 1)) {
    throw new ConfigurationError('attempts cannot be used.', {
      existing: attempts,
      expected: 'a whole number from 1 on',
    });
  }
  const deliveries = new OneAtATime();
  const report = quietly(options.onReport ?? logReport);

  const receiveIn = <R>(event: ReceivedEvent, given: Effect<Tx, R> | undefined, wasDue: boolean) => {
    const { source, eventId } = event;
    const attributes = {
      'messaging.operation.name': 'process',
      'messaging.message.id': eventId,
      'oncekit.source': source,
    };
    return inSpan(`process ${source}`, { kind: 'consumer', attributes }, async (span): Promise<Received<R>> => {
      const received = await receive(event, given, wasDue);
      span.setAttribute('oncekit.outcome', received.kind);
      if ('error' in received) markFailed(span, received.error);
      countReception(source, received.kind);
      return received;
    });
  };

  const receive = async <R>(
    event: ReceivedEvent,
    given: Effect<Tx, R> | undefined,
    wasDue: boolean,
  ): Promise<Received<R>> => {
    const { source, eventId, payload } = event;
    const settings = Object.hasOwn(sources, source) ? sources[source] : undefined;
    const run = given ?? (settings?.handle as Effect<Tx, R> | undefined);
    if (!run) {
      throw new ConfigurationError(`Nothing says what events of ${source} do.`, {
        expected: 'a handle, or a second argument',
      });
    }
    assertName(source, 100);
    assertName(eventId, 255);
    const name = { eventId, peer: source };
    const receipt = { source, eventId, payloadHash: await hashOf(payload, settings?.compare) };

    let result: R | undefined;
    const effect = async (tx: Tx) => {
      result = await run(tx, event);
      return jsonResult(result);
    };
    const how = {
      timeoutMs,
      retentionMs,
      wasDue,
      onPoint: async (point: 'claimed' | 'handled') => onPoint(point, name),
    };
    const received = await deliveries.run(JSON.stringify([source, eventId]), async () => {
      for (let attempt = 1; ; attempt++) {
        const tried = await store.receive(receipt, effect, how);
        if (tried.kind !== 'failed' || !tried.isConflict || attempt === MAX_CONFLICTS) return tried;
      }
    });
    if (received.kind === 'processed') {
      await onPoint('committed', name);
      return { kind: 'processed', result: result as R };
    }
    if (received.kind === 'existing') return await known(receipt, received.row);

    // The error says nothing about the commit: the row does.
    const { error } = received;
    const pausesMs = Array.from({ length: attempts - 1 }, (_, n) => equalJitter(n + 1, backoff, random()));
    const kept = await keepable(payload);
    const row = await store.failed(receipt, { payload: kept, pausesMs, error: describe(error), wasDue });
    if (row.state === 'processed' || (!wasDue && !isSamePayload(row, receipt))) return await known(receipt, row);
    const isDead = row.state === 'dead';
    report({ kind: isDead ? 'not-processed-dead' : 'not-processed', error, attempt: row.attempts, event: name });
    const open = { error, attempts: row.attempts, isKept: row.isKept };
    return isDead
      ? { kind: 'dead', ...open }
      : { kind: 'failed', ...open, retryAfterMs: pausesMs[row.attempts - 1] ?? 0 };
  };

  const known = async <R>(receipt: Receipt, row: KnownRow): Promise<Received<R>> => {
    const differs = !isSamePayload(row, receipt);
    if (differs) {
      await store.mismatched(receipt);
      countReception(receipt.source, 'mismatch');
      report({ kind: 'mismatch', event: { eventId: receipt.eventId, peer: receipt.source } });
    }
    const { state, attempts, isKept, nextAttemptAt } = row;
    if (state === 'dead') return { kind: 'dead', attempts, isKept };
    if (state === 'failed') {
      const error = new Error(
        'The event has failed before, under another payload. That one counts, and is tried again.',
      );
      const retryAfterMs = Math.max(0, (nextAttemptAt?.getTime() ?? 0) - Date.now());
      return { kind: 'failed', error, attempts, retryAfterMs, isKept };
    }
    const result = (row.result === null ? undefined : JSON.parse(row.result)) as R;
    return { kind: 'replayed', result, differs };
  };

  return {
    sources: Object.keys(sources),
    receiveOnce: (event, run) => receiveIn(event, run, false),
    retryDue: async ({ limit = 20, signal } = {}) => {
      const sum: Retried = { taken: 0, processed: 0, failed: 0, dead: 0 };
      const handled = Object.keys(sources).filter((source) => sources[source]?.handle);
      if (handled.length === 0 || signal?.aborted) return sum;
      const due = await store.takeFailed(handled, Math.max(LEASE_MS, 2 * timeoutMs), limit);
      sum.taken = due.length;
      const problems: unknown[] = [];
      for (const { source, eventId, payload } of due) {
        if (signal?.aborted) break; // due again when its turn is over
        try {
          const { kind } = await receiveIn({ source, eventId, payload: JSON.parse(payload) }, undefined, true);
          if (kind === 'failed' || kind === 'dead') sum[kind]++;
          else sum.processed++;
        } catch (error) {
          problems.push(error); // the others have their turn all the same
        }
      }
      if (problems.length > 0) throw problems[0];
      return sum;
    },
    requeue: ({ source, eventId }, actor) => store.requeue(source, eventId, actor),
    list: (filter) => store.list(filter),
    find: ({ source, eventId }) => store.find(source, eventId),
    open: () => store.open(),
    gauge: () => gaugeOpen('inbox', () => store.open()),
    reap: async (how) => {
      const reaped = await untilNoneIsLeft((limit) => store.reap(limit), how);
      await untilNoneIsLeft((limit) => store.reapRecords(limit), how);
      return reaped;
    },
  };
}
