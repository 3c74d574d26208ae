import {
  type Attributes,
  type BatchObservableResult,
  type Counter,
  createNoopMeter,
  type Meter,
  type MeterProvider,
  metrics,
  type Observable,
} from '@opentelemetry/api';

/** Counts of keys, each in a counter of its own, by operation. */
type Counted = keyof typeof COUNTERS;

const COUNTERS = {
  created: 'Keys claimed: intents that began to execute',
  replayed: 'Duplicates answered with the stored result',
  conflict: 'Duplicates turned away because the first was still running',
  mismatch: 'Keys used again for another payload',
  expired: 'Keys refused because they were older than the window',
  abandoned: 'Keys given up for good',
  unknown: 'Keys whose foreign call has an outcome that could not be learned',
} as const;

/** Instruments that are made at their first use, and of the provider that there is: an SDK that is set up later gets its own. */
function instruments<I>(make: (meter: Meter) => I): () => I | undefined {
  let made: I | undefined;
  let madeBy: MeterProvider | undefined;
  return () => {
    const provider = metrics.getMeterProvider();
    if (provider !== madeBy) {
      madeBy = provider;
      const meter = provider.getMeter('oncekit');
      made = meter === createNoopMeter() ? undefined : make(meter);
    }
    return made;
  };
}

/** `duration` by operation, outcome and whether it was a replay; `delay` by what waits. */
export const keyMetrics = instruments((meter) => {
  const names = Object.keys(COUNTERS) as Counted[];
  const counter = (name: Counted) => meter.createCounter(`idempotent.${name}`, { description: COUNTERS[name] });
  const histogram = (name: string, description: string) =>
    meter.createHistogram(`idempotent.${name}`, { unit: 'ms', description });
  return {
    counters: Object.fromEntries(names.map((name) => [name, counter(name)])) as Record<Counted, Counter>,
    duration: histogram('duration', 'From the call to its outcome'),
    delay: histogram('retry.delay', 'How long the kit waits before it tries again'),
  };
});

/**
 * `deliveries` by destination and outcome: delivered | failed | dead | stopped | lost. `lag` by destination, by two clocks: the
 * database's and this process's. `receptions` by source and outcome: processed | replayed | failed | dead, and mismatch beside them.
 */
export const messageMetrics = instruments((meter) => ({
  deliveries: meter.createCounter('outbox.deliveries', { description: 'Attempts to deliver an event' }),
  lag: meter.createHistogram('outbox.lag', { unit: 'ms', description: 'From the event to its delivery' }),
  receptions: meter.createCounter('inbox.receptions', { description: 'Events received, by what became of them' }),
}));

/** Tells whether the app has set up an SDK for metrics. Asked where a call must not pay for what nobody collects. */
export function isMeasured(): boolean {
  return keyMetrics() !== undefined;
}

/** Counts in `idempotent.<what>`, by operation. */
export function countKey(what: Counted, operation: string): void {
  keyMetrics()?.counters[what].add(1, { operation });
}

/** Records in `idempotent.retry.delay`, in milliseconds, by what waits. */
export function recordDelay(ms: number, waits: 'transaction' | 'foreign' | 'completer'): void {
  keyMetrics()?.delay.record(ms, { waits });
}

/** Keeps gauges, asked whenever metrics are collected, until what it returns is called. A database that cannot be asked leaves a gap. */
function keepGauges<Row>(
  meter: Meter,
  gauges: Observable[],
  ask: () => Promise<readonly Row[]>,
  tell: (result: BatchObservableResult, rows: readonly Row[]) => void,
): () => void {
  const observe = async (result: BatchObservableResult) => {
    const rows = await ask().catch(() => undefined);
    if (rows) tell(result, rows);
  };
  meter.addBatchObservableCallback(observe, gauges);
  return () => meter.removeBatchObservableCallback(observe, gauges);
}

/** The keys of one operation in one state that are not settled, or flagged for a person. */
interface OpenCount {
  operation: string;
  state: string;
  count: number;
  /** How many of them nobody drives on, or wait for a person. */
  stuck: number;
  oldestAt: Date;
}

const UNSETTLED = ['in_progress', 'unknown'];
const stuckOf = (counts: readonly OpenCount[]) => counts.reduce((sum, { stuck }) => sum + stuck, 0);

/**
 * Gauges over keys that have not settled, or wait for a person, asked whenever metrics are collected: `idempotent.keys` by operation and state,
 * `idempotent.stuck`, `idempotent.unlisted` and `idempotent.oldest_in_progress_seconds` by operation. A database that cannot be asked leaves a gap.
 *
 * @param operations those whose gauges and counters are 0 from the first; keys of all others are unlisted, unless there are none
 * @returns ends it
 */
export function gaugeKeys(ask: () => Promise<readonly OpenCount[]>, operations: readonly string[]): () => void {
  const meter = metrics.getMeter('oncekit');
  const gauge = (name: string, description: string, unit = '') =>
    meter.createObservableGauge(`idempotent.${name}`, { description, unit });
  const keys = gauge('keys', 'Keys that have not settled');
  const stuck = gauge('stuck', 'Keys that nobody drives on, or that wait for a person');
  const unlisted = gauge('unlisted', 'Stuck keys of an operation that is not listed: no worker goes on with them');
  const oldest = gauge('oldest_in_progress_seconds', 'Age of the oldest key in progress', 's');
  // A counter that begins at 1 hides its first event from whoever looks at its growth.
  const counters = Object.values(keyMetrics()?.counters ?? {});
  for (const operation of operations) for (const counter of counters) counter.add(0, { operation });
  // What was seen once is 0 when it is gone: an SDK may repeat the last value it was told, and an alarm would never end.
  const known = new Set(operations);
  return keepGauges(meter, [keys, stuck, unlisted, oldest], ask, (result, open) => {
    for (const { operation } of open) known.add(operation);
    for (const operation of known) {
      const own = open.filter((found) => found.operation === operation);
      const running = own.find(({ state }) => state === 'in_progress');
      for (const state of UNSETTLED) {
        result.observe(keys, own.find((found) => found.state === state)?.count ?? 0, { operation, state });
      }
      result.observe(stuck, stuckOf(own), { operation });
      const isListed = operations.length === 0 || operations.includes(operation);
      // A settled key needs no worker.
      const left = isListed ? [] : own.filter(({ state }) => UNSETTLED.includes(state));
      result.observe(unlisted, stuckOf(left), { operation });
      const seconds = running ? (Date.now() - running.oldestAt.getTime()) / 1000 : 0;
      result.observe(oldest, Math.max(0, seconds), { operation });
    }
  });
}

/** Something that waits, or waits for a person. */
interface Waiting extends Pick<OpenCount, 'state' | 'count' | 'oldestAt'> {
  peer: string;
}

/**
 * Gauges over what is not settled, asked whenever metrics are collected: `<box>.open` and `<box>.oldest_open_seconds`, by
 * peer and state. A database that cannot be asked leaves a gap.
 *
 * @returns ends it
 */
export function gaugeOpen(box: 'outbox' | 'inbox', ask: () => Promise<readonly Waiting[]>): () => void {
  const meter = metrics.getMeter('oncekit');
  const open = meter.createObservableGauge(`${box}.open`, { description: 'Events that are under way or dead' });
  const oldest = meter.createObservableGauge(`${box}.oldest_open_seconds`, { unit: 's' });
  // What was seen once is 0 when it is gone: an SDK may repeat the last value it was told, and an alarm would never end.
  const known = new Map<string, Attributes>();
  return keepGauges(meter, [open, oldest], ask, (result, waiting) => {
    for (const attributes of known.values()) for (const gauge of [open, oldest]) result.observe(gauge, 0, attributes);
    for (const { peer, state, count, oldestAt } of waiting) {
      const attributes = { peer, state };
      known.set(JSON.stringify(attributes), attributes);
      result.observe(open, count, attributes);
      result.observe(oldest, Math.max(0, (Date.now() - oldestAt.getTime()) / 1000), attributes);
    }
  });
}
