import { createNoopMeter, type MeterProvider, metrics } from '@opentelemetry/api';

/** Counts of keys, each in a counter of its own, by operation. */
export type Counted = keyof typeof COUNTERS;

const COUNTERS = {
  created: 'Keys claimed: intents that began to execute',
  replayed: 'Duplicates answered with the stored result',
  conflict: 'Duplicates turned away because the first was still running',
  mismatch: 'Keys used again for another payload',
  expired: 'Keys refused because they were older than the window',
  abandoned: 'Keys given up for good',
  unknown: 'Keys whose foreign call has an outcome that could not be learned',
} as const;

/** Where the kit waits before it tries again. */
export type Waits = 'transaction' | 'foreign' | 'completer';

// Of the provider they were made by: an SDK that is set up later gets its own.
let made: ReturnType<typeof make> | undefined;
let madeBy: MeterProvider | undefined;

function make(provider: MeterProvider) {
  const meter = provider.getMeter('oncekit');
  if (meter === createNoopMeter()) return undefined;
  const counter = (name: Counted) => meter.createCounter(`idempotent.${name}`, { description: COUNTERS[name] });
  const histogram = (name: string, description: string) =>
    meter.createHistogram(`idempotent.${name}`, { unit: 'ms', description });
  return {
    counters: Object.fromEntries(Object.keys(COUNTERS).map((name) => [name, counter(name as Counted)])) as Record<
      Counted,
      ReturnType<typeof counter>
    >,
    duration: histogram('duration', 'From the call to its outcome'),
    delay: histogram('retry.delay', 'How long the kit waits before it tries again'),
  };
}

function instruments() {
  const provider = metrics.getMeterProvider();
  if (provider !== madeBy) {
    madeBy = provider;
    made = make(provider);
  }
  return made;
}

/** Tells whether the app has set up an SDK for metrics. Asked where a call must not pay for what nobody collects. */
export function isMeasured(): boolean {
  return instruments() !== undefined;
}

/** Counts in `idempotent.<what>`, by operation. */
export function countKey(what: Counted, operation: string): void {
  instruments()?.counters[what].add(1, { operation });
}

function countNothing(operation: string): void {
  for (const counter of Object.values(instruments()?.counters ?? {})) counter.add(0, { operation });
}

/** Records in `idempotent.duration`, in milliseconds, by operation, outcome and whether it was a replay. */
export function recordDuration(ms: number, how: { operation: string; outcome: string; replayed: boolean }): void {
  instruments()?.duration.record(ms, { ...how });
}

/** Records in `idempotent.retry.delay`, in milliseconds, by what waits. */
export function recordDelay(ms: number, waits: Waits): void {
  instruments()?.delay.record(ms, { waits });
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
  for (const operation of operations) countNothing(operation);
  // What was seen once is 0 when it is gone: an SDK may repeat the last value it was told, and an alarm would never end.
  const known = new Set(operations);
  const observe: Parameters<typeof meter.addBatchObservableCallback>[0] = async (result) => {
    const open = await ask().catch(() => undefined);
    if (!open) return;
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
  };
  const gauges = [keys, stuck, unlisted, oldest];
  meter.addBatchObservableCallback(observe, gauges);
  return () => meter.removeBatchObservableCallback(observe, gauges);
}
