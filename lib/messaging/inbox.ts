import { everyOne, untilNoneIsLeft } from '../core/batches.ts';
import { assertSetUp } from '../core/errors.ts';
import { toMs } from '../core/options.ts';
import type { FailedEvent, FoundReceived, InboxFilter, InboxRow, InboxStore, Open } from '../store/messages.ts';
import { gaugeOpen } from '../telemetry/metrics.ts';
import { assertBackoff } from './destination.ts';
import {
  type Effect,
  type InboxContext,
  type InboxSettings,
  KeyedMutex,
  MAX_CONFLICTS,
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
  /**
   * Runs failed events again that are due, until none is, for the sources that have a `handle`: of each source three at once, or
   * fewer where there are many. Sources do not wait for each other. In any number of processes.
   *
   * @param options `limit`: no more than so many of each source. Behind `until` or `signal` nothing begins; what has begun goes on
   */
  retryDue(
    options?: { limit?: number } & Partial<Record<'until' | 'signal', AbortSignal | undefined>>,
  ): Promise<Retried>;
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

/**
 * An inbox on a store.
 *
 * @throws ConfigurationError for settings that cannot be used
 */
export function makeInbox<Tx>(store: InboxStore<Tx>, settings: InboxSettings<Tx>): Inbox<Tx> {
  const { sources = {}, attempts = 10, timeoutMs = 5000, random = Math.random, onPoint = () => {} } = settings;
  const { backoff = { baseMs: 1000, capMs: 3_600_000 }, retention = '30d', onReport } = settings;
  const retentionMs = toMs(retention, 'retention');
  const isFit = Number.isInteger(attempts) && attempts >= 1 && Number.isFinite(timeoutMs) && timeoutMs > 0;
  assertSetUp(isFit, 'attempts or timeoutMs cannot be used.', {
    existing: { attempts, timeoutMs },
    expected: 'at least one attempt, and time for it',
  });
  assertBackoff('the inbox', backoff, 0);
  const handled = Object.keys(sources).filter((source) => sources[source]?.handle);
  const own = { store, handled, retentionMs, report: quietly(onReport), mutex: new KeyedMutex() };
  const lanes = new Map(handled.map((source) => [source, newLane()]));
  const context: InboxContext<Tx> = { ...own, sources, attempts, backoff, timeoutMs, random, onPoint };
  return {
    sources: Object.keys(sources),
    handled,
    receiveOnce: (event, run) => receiveEvent(context, event, run),
    retryDue: (options) => retry(context, lanes, options),
    requeue: async ({ source, eventId }, actor) => {
      if (settings.sources && !handled.includes(source)) {
        const found = await store.find(source, eventId);
        const words = `Nobody runs events of ${source} again. Give it a \`handle\` in createInbox, and requeue the event then.`;
        // Its sender was told not to repeat it.
        assertSetUp(found?.state !== 'dead' || found.payload === null, words, { expected: 'a `handle`' });
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

/** Events of one source that are run again at once; where there are many sources, fewer, to leave the app's pool to others. */
const PLACES = { ofSource: 3, ofAll: 6 };
/** For one try: the wait for a connection, and the time in which a server that says nothing is given up. */
const MARGIN_MS = 10_000;

/** The events of one source that are run again in this process. While a pass is taking them, another one leaves them to it. */
const newLane = () => ({ isTaking: false, running: new Set<Promise<void>>() });
type Lane = ReturnType<typeof newLane>;

/**
 * Runs what is due, each source in a lane of its own. Each event is taken when there is a place for it, so none waits with its
 * attempt counted.
 *
 * @throws what the first of them has thrown, when all have had their turn
 */
async function retry<Tx>(
  context: InboxContext<Tx>,
  lanes: Map<string, Lane>,
  { limit = Number.POSITIVE_INFINITY, until, signal }: Parameters<Inbox<Tx>['retryDue']>[0] = {},
): Promise<Retried> {
  const { store, timeoutMs, random } = context;
  const places = Math.max(1, Math.min(PLACES.ofSource, Math.floor(PLACES.ofAll / lanes.size)));
  const sum: Retried = { taken: 0, processed: 0, failed: 0, dead: 0 };
  const problems: unknown[] = [];
  const runAgain = async (due: FailedEvent) => {
    const { source, eventId, payload, attempts: taken } = due;
    const turn = { taken, counts: false };
    try {
      const { kind } = await receiveEvent(context, { source, eventId, payload: JSON.parse(payload) }, undefined, turn);
      if (kind === 'dead') sum.dead++;
      else if (kind !== 'failed') sum.processed++;
      else if (turn.counts) sum.failed++;
      else await store.giveBack(due);
    } catch (error) {
      problems.push(error);
      // Not even begun, such as where no connection was to be had. What counts stays counted, whatever was thrown behind it.
      if (!turn.counts) await store.giveBack(due).catch((problem) => problems.push(problem));
    }
  };
  const runLane = async ([source, lane]: [string, Lane]) => {
    if (lane.isTaking) return;
    lane.isTaking = true;
    const own = new Set<Promise<void>>(); // another pass waits for its own
    try {
      for (let taken = 0; taken < limit; taken++) {
        if (lane.running.size >= places) await Promise.race(lane.running);
        if (until?.aborted || signal?.aborted) break;
        // Longer than all its tries may take. At random, so that what a dying process has taken does not come again all at once
        // with the event that ended it.
        const leaseMs = MAX_CONFLICTS * (timeoutMs + MARGIN_MS) * (1 + random());
        const due = await store.takeFailed(source, leaseMs);
        if (!due) break;
        sum.taken++;
        const run = runAgain(due).finally(() => [own, lane.running].map((runs) => runs.delete(run)));
        for (const runs of [own, lane.running]) runs.add(run);
      }
    } finally {
      lane.isTaking = false;
      await Promise.all(own);
    }
  };
  await Promise.all([...lanes].map((lane) => runLane(lane).catch((problem) => problems.push(problem))));
  if (problems.length > 0) throw problems[0];
  return sum;
}
