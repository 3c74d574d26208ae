import { setMaxListeners } from 'node:events';
import { type Backoff, equalJitter } from '../core/backoff.ts';
import type { Delivery, OutboxStore } from '../store/messages.ts';
import { countDelivery, recordLag } from '../telemetry/messages.ts';
import { inSpan, type SpanOptions } from '../telemetry/span.ts';
import { describe, type OutgoingEvent, PublishError, type Publisher } from './publisher.ts';
import type { EventName, OnReport } from './report.ts';

/** Moments of a delivery at which a process may die; tests kill it there. */
export type RelayPoint =
  /** Taken from the outbox: the lease is committed. */
  | 'claimed'
  /** Handed to the publisher; no answer yet. */
  | 'sent'
  /** The destination has it; nothing is written down. */
  | 'acknowledged'
  /** Written down. */
  | 'marked';

/** A destination, checked and filled in. */
export interface Route {
  name: string;
  publisher: Publisher;
  timeoutMs: number;
  attempts: number;
  backoff: Backoff;
  onDead: (event: OutgoingEvent) => 'block' | 'skip';
}

/** The part of the port that the relay needs. */
export type RelayStore = Pick<OutboxStore<never>, 'takeHeads' | 'delivered' | 'postpone' | 'giveUp' | 'giveBack'>;

export interface RelayContext {
  store: RelayStore;
  leaseMs: number;
  random: () => number;
  report: OnReport;
  onPoint: (point: RelayPoint, event: EventName) => void | Promise<void>;
}

/** How a pass of the relay is ended early, and how much it takes. */
export interface RelayOptions {
  /** Aggregates at once. */
  limit?: number;
  /** Take nothing more; what is under way goes on. */
  until?: AbortSignal;
  /** Break off what is under way, too, and give it back. */
  signal?: AbortSignal;
}

/** What a pass of the relay came to, in events. */
export interface Relayed {
  delivered: number;
  /** Put off: tried again later. */
  failed: number;
  /** Given up on, whether they block their aggregate or not. */
  dead: number;
  /** Taken over by another relay, or given back. */
  unfinished: number;
}

const LIMIT = 20;
/** One aggregate that never runs dry, or whose events take long, must not keep a lane from the others. */
const AT_A_STRETCH = 100;
const STRETCH_MS = 1000;
const LOOK_AGAIN_MS = 1000;
/** A pass that is told to stop gives back what it has just begun; what has taken longer was an attempt. */
const JUST_BEGUN_MS = 1000;
/** How long a destination may ask to be left alone. Longer waits are a person's business. */
const MAX_RETRY_AFTER_MS = 3_600_000;

/**
 * Sends what is due for one destination until nothing is: the next event of each aggregate, several aggregates at once,
 * one event of each after the other. At least once: an event counts as delivered only when that is committed.
 */
export async function relayTo(context: RelayContext, route: Route, options: RelayOptions): Promise<Relayed> {
  const { store, leaseMs } = context;
  const { limit = LIMIT, until, signal } = options;
  if (signal) setMaxListeners(0, signal); // one for each lane
  const sum: Relayed = { delivered: 0, failed: 0, dead: 0, unfinished: 0 };
  const lanes = new Set<Promise<void>>();
  const problems: unknown[] = [];
  const start = (head: Delivery) => {
    const lane = sendInOrder(context, route, head, options, sum)
      .catch((problem) => void problems.push(problem))
      .finally(() => lanes.delete(lane));
    lanes.add(lane);
  };
  // Round and round: who comes late in the order of names has its turn, too. A lane that has ended is filled again at
  // once: whoever has a slow one beside it does not wait for that.
  let after = '';
  while (!until?.aborted && !signal?.aborted && problems.length === 0) {
    const free = limit - lanes.size;
    const heads = await store.takeHeads(route.name, leaseMs, free, after);
    if (heads.length === 0 && after === '' && lanes.size === 0) break;
    for (const head of heads) start(head);
    const isOneRound = heads.length < free;
    if (lanes.size === limit) await Promise.race(lanes);
    // There is a free lane for what is announced meanwhile, or becomes due: whoever is slow must not keep it from being seen.
    else if (isOneRound && after === '') await firstOf(lanes, LOOK_AGAIN_MS);
    after = isOneRound ? '' : heads.map(({ aggregate }) => aggregate).reduce((a, b) => (a > b ? a : b));
  }
  await Promise.all(lanes);
  if (problems.length > 0) throw problems[0];
  return sum;
}

async function firstOf(lanes: Iterable<Promise<void>>, withinMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, withinMs);
  });
  await Promise.race([...lanes, over]);
  clearTimeout(timer);
}

async function sendInOrder(
  context: RelayContext,
  route: Route,
  head: Delivery,
  { until, signal }: RelayOptions,
  sum: Relayed,
): Promise<void> {
  const { store, leaseMs, onPoint, report } = context;
  let held: Delivery | undefined = head;
  const began = performance.now();
  for (let count = 1; held; count++) {
    const name = nameOf(held);
    await onPoint('claimed', name);
    const error = await attempt(context, route, held, signal);
    if (error !== undefined) return await undelivered(context, route, held, error, signal, sum);
    await onPoint('acknowledged', name);
    const isOver = count >= AT_A_STRETCH || performance.now() - began >= STRETCH_MS;
    const goesOn = !isOver && !until?.aborted && !signal?.aborted;
    const { marked, next } = await store.delivered(held, goesOn ? leaseMs : null);
    if (!marked) {
      sum.unfinished++;
      return report({ kind: 'lost', event: name });
    }
    sum.delivered++;
    countDelivery(route.name, 'delivered');
    recordLag(route.name, Date.now() - held.createdAt.getTime());
    await onPoint('marked', name);
    held = next;
  }
}

interface Failure {
  thrown: unknown;
  tookMs: number;
}

/** Undefined: the destination has it. Else why not, as far as is known: it may have it all the same. */
async function attempt(
  { leaseMs, onPoint }: RelayContext,
  { publisher, timeoutMs, attempts }: Route,
  held: Delivery,
  stop: AbortSignal | undefined,
): Promise<Failure | undefined> {
  // Taken more often than it is tried: its relays did not live to write down what came of it.
  if (held.attempts > attempts) {
    return {
      thrown: new PublishError(`Taken ${held.attempts - 1} times, and no relay came back.`, { next: 'give-up' }),
      tookMs: 0,
    };
  }
  // Ends before the lease: what the destination is told later could overtake what another relay tells it.
  const deadlineMs = Math.floor(Math.min(timeoutMs, (leaseMs * 2) / 3));
  const patience = patienceOf(deadlineMs, stop);
  const began = performance.now();
  try {
    const how = { signal: patience.signal, deadlineMs, attempt: held.attempts };
    const sending = inSpan(`send ${held.destination}`, spanOf(held), async () => publisher.publish(eventOf(held), how));
    sending.catch(() => {}); // heard below, or too late to matter
    await onPoint('sent', nameOf(held));
    await Promise.race([sending, patience.over]);
    return undefined;
  } catch (thrown) {
    return { thrown, tookMs: performance.now() - began };
  } finally {
    patience.end();
  }
}

async function undelivered(
  { store, random, report }: RelayContext,
  route: Route,
  held: Delivery,
  { thrown: error, tookMs }: Failure,
  stop: AbortSignal | undefined,
  sum: Relayed,
): Promise<void> {
  const event = nameOf(held);
  const told = error instanceof PublishError ? error : undefined;
  const lost = () => {
    sum.unfinished++;
    report({ kind: 'lost', event });
  };
  if (told?.next === 'stop') {
    await store.giveBack(held, told.message);
    sum.unfinished++;
    return report({ kind: 'stopped', error, event });
  }
  if (stop?.aborted && tookMs < JUST_BEGUN_MS) {
    await store.giveBack(held, null);
    sum.unfinished++;
    return;
  }
  const attempt = held.attempts;
  if (told?.next === 'give-up' || attempt >= route.attempts) {
    const blocks = isBlocking(route, held);
    if (!(await store.giveUp(held, blocks ? 'dead' : 'skipped', describe(error)))) return lost();
    sum.dead++;
    return report({ kind: 'dead', error, attempt, blocks, event });
  }
  const asked = Math.min(told?.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS);
  const pauseMs = Math.max(asked, equalJitter(attempt, route.backoff, random()));
  if (!(await store.postpone(held, pauseMs, describe(error)))) return lost();
  sum.failed++;
  report({ kind: 'failed', error, attempt, blocks: true, event });
}

/**
 * A signal that is aborted after `ms` or by `stop`, and a promise that rejects then, for a publisher that does not look at
 * its signal. By hand, not by AbortSignal.any: on Node 20 that leaks one signal per attempt for as long as `stop` lives.
 */
function patienceOf(ms: number, stop: AbortSignal | undefined) {
  const controller = new AbortController();
  const { signal } = controller;
  const over = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  over.catch(() => {});
  const onStop = () => controller.abort(new PublishError('The relay was stopped.'));
  const timer = setTimeout(() => controller.abort(new PublishError(`No answer within ${ms} ms.`)), ms);
  stop?.addEventListener('abort', onStop, { once: true });
  if (stop?.aborted) onStop();
  const end = () => {
    clearTimeout(timer);
    stop?.removeEventListener('abort', onStop);
  };
  return { signal, over, end };
}

function eventOf(held: Delivery): OutgoingEvent {
  const { eventId: id, type, aggregate, sequence, payload, headers, derivedKey, createdAt } = held;
  return { id, type, aggregate, sequence, payload, headers, derivedKey, createdAt };
}

/** A judge that fails has not said that the event may be left out. */
function isBlocking({ onDead }: Route, held: Delivery): boolean {
  try {
    return onDead(eventOf(held)) !== 'skip';
  } catch {
    return true;
  }
}

/** In the trace that has announced it. */
function spanOf({ eventId, destination, type, attempts, headers }: Delivery): SpanOptions {
  const attributes = {
    'messaging.operation.name': 'send',
    'messaging.message.id': eventId,
    'messaging.destination.name': destination,
    'oncekit.event.type': type,
    'oncekit.attempt': attempts,
  };
  return { kind: 'producer', attributes, from: headers };
}

function nameOf({ eventId, destination: peer, aggregate, type }: Delivery): EventName {
  return { eventId, peer, aggregate, type };
}
