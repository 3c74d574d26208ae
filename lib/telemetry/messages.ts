import { type Attributes, metrics } from '@opentelemetry/api';

// Made at their first use: the app's SDK has to be set up by then, not when this module is imported.
let made: ReturnType<typeof make> | undefined;

function make() {
  const meter = metrics.getMeter('oncekit');
  return {
    deliveries: meter.createCounter('outbox.deliveries', { description: 'Attempts to deliver an event' }),
    lag: meter.createHistogram('outbox.lag', { unit: 'ms', description: 'From the event to its delivery' }),
    receptions: meter.createCounter('inbox.receptions', { description: 'Events received, by what became of them' }),
  };
}

function instruments() {
  made ??= make();
  return made;
}

/** Counts in `outbox.deliveries`, by destination and outcome: delivered | failed | dead | stopped | lost. */
export function countDelivery(destination: string, outcome: string): void {
  instruments().deliveries.add(1, { destination, outcome });
}

/** Records in `outbox.lag` how long an event took, by destination. By two clocks: the database's and this process's. */
export function recordLag(destination: string, ms: number): void {
  instruments().lag.record(Math.max(0, ms), { destination });
}

/** Counts in `inbox.receptions`, by source and outcome: processed | replayed | failed | dead, and mismatch beside them. */
export function countReception(source: string, outcome: string): void {
  instruments().receptions.add(1, { source, outcome });
}

/** Something that waits, or waits for a person. */
export interface Waiting {
  peer: string;
  state: string;
  count: number;
  oldestAt: Date;
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
  const observe: Parameters<typeof meter.addBatchObservableCallback>[0] = async (result) => {
    const waiting = await ask().catch(() => undefined);
    if (!waiting) return;
    for (const attributes of known.values()) for (const gauge of [open, oldest]) result.observe(gauge, 0, attributes);
    for (const { peer, state, count, oldestAt } of waiting) {
      const attributes = { peer, state };
      known.set(JSON.stringify(attributes), attributes);
      result.observe(open, count, attributes);
      result.observe(oldest, Math.max(0, (Date.now() - oldestAt.getTime()) / 1000), attributes);
    }
  };
  meter.addBatchObservableCallback(observe, [open, oldest]);
  return () => meter.removeBatchObservableCallback(observe, [open, oldest]);
}
