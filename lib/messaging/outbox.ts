import { type Batches, everyOne, untilNoneIsLeft } from '../core/batches.ts';
import { assertSetUp, tryOr } from '../core/errors.ts';
import { type Duration, toMs } from '../core/options.ts';
import type {
  ActedBatch,
  DeliveryFilter,
  DeliveryRow,
  Enqueued,
  FoundEvent,
  NewEvent,
  Open,
  OutboxStore,
  Stop,
} from '../store/messages.ts';
import { gaugeOpen, messageMetrics } from '../telemetry/metrics.ts';
import { traceHeaders } from '../telemetry/span.ts';
import { type Destination, routesOf } from './destination.ts';
import { EventError, type EventToSend, newEvent, type Origin } from './event.ts';
import { type Relayed, type RelayOptions, type RelayPoint, relayTo } from './relay.ts';
import { type EventName, type OnReport, quietly } from './report.ts';

/** The settings of an outbox on any store. */
export interface OutboxSettings {
  destinations: readonly Destination[];
  /** The app's name in derived keys: what `createIdempotency` is given. Never change it. Default `oncekit`. */
  namespace?: string;
  /** How long a relay is believed to be alive that says nothing. Default 30,000 ms. */
  leaseMs?: number;
  /**
   * A job wakes the relay at commit, where graphile-worker's schema is installed. Switch it off where no worker
   * takes jobs (cron alone): they would pile up. Default true.
   */
  wake?: boolean;
  /** How long events are kept that were delivered everywhere. Default 7 days. */
  retention?: Duration;
  /** The trace that is under way, as headers, which go with each event. Default: OpenTelemetry's, where the app has it. */
  traceContext?: () => Record<string, string>;
  /** Default: a line on the console for what needs a person. */
  onReport?: OnReport;
  /** Called at each moment at which a crash matters. For tests. */
  onPoint?: (point: RelayPoint, event: EventName) => void | Promise<void>;
  clock?: () => number;
  /** Between 0 and 1. */
  random?: () => number;
}

/** Names a delivery that was given up on. */
export interface GivenUp {
  destination: string;
  eventId: string;
  /** As a person has seen it: what somebody else has decided since is left alone. Left out: as it is. */
  settledAt?: Date | undefined;
}

/** An outbox, but for `enqueue`: its transaction is the store's. */
export interface OutboxOperations {
  /** The destinations' names. */
  readonly destinations: readonly string[];
  /** The relay, once: sends what is due until nothing is, to all destinations or one. In any number of processes. */
  relayDue(options?: RelayOptions & { destination?: string }): Promise<Relayed>;
  /** Sends a dead letter again, and what waited behind it. Audited. False: it is none. */
  requeue(delivery: GivenUp, actor: string): Promise<boolean>;
  /**
   * The same for all dead letters that a destination has when it begins, in batches that are committed each by itself. Returns how
   * many. Broken off, by the signal or an error, it goes on with the rest when it is called again.
   */
  requeueAll(destination: string, actor: string, how?: Batches): Promise<number>;
  /** Lets an aggregate go on without its dead letter, which stays to be seen until its retention. Audited. */
  skip(delivery: GivenUp, actor: string): Promise<boolean>;
  /**
   * Skips all that waits for a destination, and its dead letters: for one that is gone for good, also from the
   * configuration, which otherwise keeps its events for ever. Audited. Returns how many. In batches, as `requeueAll`.
   */
  abandon(destination: string, actor: string, how?: Batches): Promise<number>;
  /** Lets a destination go on that was stopped by 410. Audited. */
  resume(destination: string, actor: string): Promise<boolean>;
  stops(): Promise<Stop[]>;
  /** Deliveries without payloads, newest event first. */
  list(filter: DeliveryFilter): Promise<DeliveryRow[]>;
  /** One event with its deliveries, and its payload as it is: redact it before you show it. */
  find(eventId: string): Promise<FoundEvent | undefined>;
  /** How many deliveries are under way or dead, by destination, and since when: for alarms. */
  open(): Promise<Open[]>;
  /**
   * The same as OpenTelemetry gauges, `outbox.open` and `outbox.oldest_open_seconds`, by `peer` and `state`. In one
   * process of many, behind the SDK's set-up. Returns what ends it.
   */
  gauge(): () => void;
  /** The reaper, once: deletes events past the retention of which nothing is under way or dead. Returns how many. */
  reap(options?: { batch?: number; signal?: AbortSignal }): Promise<number>;
  /** Closes the publishers' connections. */
  close(): Promise<void>;
}

/**
 * An outbox on a store.
 *
 * @throws ConfigurationError for destinations and settings that cannot be used
 */
export function makeOutbox<Tx>(
  store: OutboxStore<Tx>,
  settings: OutboxSettings,
): OutboxOperations & { enqueue(tx: Tx, event: EventToSend, from?: Origin): Promise<Enqueued> } {
  const routes = routesOf(settings.destinations);
  const { leaseMs = 30_000, random = Math.random, onReport, onPoint = () => {} } = settings;
  assertSetUp(Number.isFinite(leaseMs) && leaseMs >= 300, 'leaseMs cannot be used.', {
    existing: leaseMs,
    expected: '300 or more',
  });
  const relay = { store, leaseMs, random, report: counted(quietly(onReport)), onPoint };
  const retentionMs = toMs(settings.retention ?? '7d', 'retention');
  return {
    destinations: routes.map(({ name }) => name),
    enqueue: async (tx, event, from) => {
      const enqueued = await store.insertEvent(tx, rowOf(event, from, settings));
      if (enqueued) return enqueued;
      throw new EventError('This intent has announced this event before. Give each a `step` of its own.', {
        existing: `an event for the step ${from?.step ?? `event ${event.type} ${event.aggregate}`}`,
        expected: 'none',
      });
    },
    relayDue: async ({ destination, ...how } = {}) => {
      const chosen = routes.filter(({ name }) => destination === undefined || name === destination);
      const sum: Relayed = { delivered: 0, failed: 0, dead: 0, unfinished: 0 };
      const passes = await Promise.allSettled(chosen.map((route) => relayTo(relay, route, how, sum)));
      // It throws what one pass has thrown, when all have ended.
      for (const pass of passes) if (pass.status === 'rejected') throw pass.reason;
      return sum;
    },
    requeue: async ({ destination, eventId, settledAt }, actor) =>
      isEventId(eventId) && (await store.requeue(destination, eventId, actor, settledAt)),
    requeueAll: inBatches(store.requeueDead),
    skip: async ({ destination, eventId, settledAt }, actor) =>
      isEventId(eventId) && (await store.skip(destination, eventId, actor, settledAt)),
    abandon: inBatches(store.abandon),
    resume: (destination, actor) => store.resume(destination, actor),
    stops: () => store.stops(),
    list: (filter) => store.list(filter),
    find: async (eventId) => (isEventId(eventId) ? await store.find(eventId) : undefined),
    open: () => store.open(),
    gauge: () => gaugeOpen('outbox', () => store.open()),
    reap: (how) =>
      everyOne(
        () => untilNoneIsLeft((limit) => store.reap(retentionMs, limit), how),
        () => untilNoneIsLeft((limit) => store.reapRecords(limit), how),
      ),
    close: async () => void (await Promise.all(routes.map(({ publisher }) => publisher.close?.()))),
  };
}

/** An act on many deliveries: batch after batch, until none is left. */
const inBatches = (act: OutboxStore<never>['abandon']) => async (destination: string, actor: string, how?: Batches) => {
  let last: ActedBatch | undefined;
  const next = async (limit: number) => {
    last = await act(destination, actor, limit, last);
    return last?.count ?? 0;
  };
  return await untilNoneIsLeft(next, how);
};

function rowOf(event: EventToSend, from: Origin | undefined, settings: OutboxSettings): NewEvent {
  const { destinations, namespace = 'oncekit', wake = true, clock = Date.now, traceContext = traceHeaders } = settings;
  const to = destinations.filter(({ types }) => !types || types.includes(event.type)).map(({ name }) => name);
  const now = clock();
  // A tracer that fails is no reason to roll an order back.
  const trace = tryOr(() => traceContext() ?? {}, {});
  return newEvent(event, from, { namespace, now, trace, destinations: to, wakes: wake });
}

function counted(report: OnReport): OnReport {
  return (what) => {
    messageMetrics()?.deliveries.add(1, { destination: what.event.peer, outcome: what.kind });
    report(what);
  };
}

/** False for anything else that an address or a form may hold: no reason to ask the database. */
function isEventId(eventId: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(eventId);
}
