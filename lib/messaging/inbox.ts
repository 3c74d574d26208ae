import { everyOne, untilNoneIsLeft } from '../core/batches.ts';
import { assertSetUp } from '../core/errors.ts';
import { toMs } from '../core/options.ts';
import type { FoundReceived, InboxFilter, InboxRow, InboxStore, Open } from '../store/messages.ts';
import { gaugeOpen } from '../telemetry/metrics.ts';
import {
  type Effect,
  type InboxContext,
  type InboxSettings,
  KeyedMutex,
  type Received,
  type ReceivedEvent,
  receiveEvent,
} from './reception.ts';
import { quietly } from './report.ts';

/** Received events, each of which takes effect once. */
export interface Inbox<Tx> {
  /** The names of its configured sources. */
  readonly sources: readonly string[];
  /** The names of those that have a `handle`, by which their failed events are run again. */
  readonly handled: readonly string[];
  /**
   * Lets an event take effect once, however often it arrives, in whatever order, in any number of processes: the effect
   * and the row that remembers it are committed together. The result is kept as JSON and answered to repetitions.
   *
   * @throws StoreUnavailableError when the database cannot be asked: do not acknowledge
   */
  receiveOnce<R>(event: ReceivedEvent, run?: Effect<Tx, R>): Promise<Received<R>>;
  /** Runs failed events again that are due, once, for the sources that have a `handle`. In any number of processes. */
  retryDue(options?: { limit?: number; signal?: AbortSignal }): Promise<Retried>;
  /**
   * Lets a dead letter be tried again: by its source's `handle`, or where it is not kept by its sender's next delivery. Audited.
   * False: it is none.
   *
   * @throws ConfigurationError for one that is kept, where the inbox has `sources`, and this one has no `handle`
   */
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

/** The figures of a pass over failed events. */
export interface Retried {
  taken: number;
  processed: number;
  failed: number;
  dead: number;
}

const LEASE_MS = 30_000;

/**
 * An inbox on a store.
 *
 * @throws ConfigurationError for settings that cannot be used
 */
export function makeInbox<Tx>(store: InboxStore<Tx>, settings: InboxSettings<Tx>): Inbox<Tx> {
  const { sources = {}, attempts = 10, timeoutMs = 5000, random = Math.random, onPoint = () => {} } = settings;
  const { backoff = { baseMs: 1000, capMs: 3_600_000 }, retention = '30d', onReport } = settings;
  const retentionMs = toMs(retention, 'retention');
  assertSetUp(Number.isInteger(attempts) && attempts >= 1, 'attempts cannot be used.', {
    existing: attempts,
    expected: 'a whole number from 1 on',
  });
  const handled = Object.keys(sources).filter((source) => sources[source]?.handle);
  const own = { store, handled, retentionMs, report: quietly(onReport), mutex: new KeyedMutex() };
  const context: InboxContext<Tx> = { ...own, sources, attempts, backoff, timeoutMs, random, onPoint };
  return {
    sources: Object.keys(sources),
    handled,
    receiveOnce: (event, run) => receiveEvent(context, event, run),
    retryDue: (options) => retry(context, options),
    requeue: async ({ source, eventId }, actor) => {
      if (settings.sources && !handled.includes(source)) {
        const found = await store.find(source, eventId);
        const words = `Nobody runs events of ${source} again. Give it a \`handle\` in createInbox, and requeue the event then.`;
        const facts = {
          existing: 'an event that is kept, and that its sender repeats no more',
          expected: 'a `handle`',
        };
        assertSetUp(found?.state !== 'dead' || found.payload === null, words, facts);
      }
      return await store.requeue(source, eventId, actor);
    },
    list: (filter) => store.list(filter),
    find: ({ source, eventId }) => store.find(source, eventId),
    open: () => store.open(),
    gauge: () => gaugeOpen('inbox', () => store.open()),
    reap: (how) =>
      everyOne(
        () => untilNoneIsLeft((limit) => store.reap(limit), how),
        () => untilNoneIsLeft((limit) => store.reapRecords(limit), how),
      ),
  };
}

/**
 * One after the other is taken and run: an event that ends the process is the only one that this has counted.
 *
 * @throws what the first of them has thrown, when all have had their turn
 */
async function retry<Tx>(
  context: InboxContext<Tx>,
  { limit = 20, signal }: { limit?: number; signal?: AbortSignal } = {},
): Promise<Retried> {
  const { store, handled, timeoutMs } = context;
  const sum: Retried = { taken: 0, processed: 0, failed: 0, dead: 0 };
  const problems: unknown[] = [];
  while (handled.length > 0 && sum.taken < limit && !signal?.aborted) {
    const due = await store.takeFailed(handled, Math.max(LEASE_MS, 2 * timeoutMs));
    if (!due) break;
    sum.taken++;
    const { source, eventId, payload, attempts: taken } = due;
    let hasRun = false;
    try {
      const event = { source, eventId, payload: JSON.parse(payload) };
      const { kind } = await receiveEvent(context, event, undefined, { taken, onRun: () => (hasRun = true) });
      if (kind === 'failed' || kind === 'dead') sum[kind]++;
      else sum.processed++;
    } catch (error) {
      problems.push(error);
      // Not even begun, such as where no connection was to be had. What has run is counted, whatever was thrown behind it.
      if (!hasRun) await store.giveBack(due).catch((problem) => problems.push(problem));
    }
  }
  if (problems.length > 0) throw problems[0];
  return sum;
}
