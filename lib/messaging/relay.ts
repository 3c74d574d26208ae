import { setMaxListeners } from 'node:events';
import { equalJitter } from '../core/backoff.ts';
import { retryAfterOf } from '../core/errors.ts';
import { isResult, returned } from '../core/options.ts';
import { settleWithin, untilAborted } from '../core/wait.ts';
import type { Delivery, OutboxStore } from '../store/messages.ts';
import { messageMetrics } from '../telemetry/metrics.ts';
import { inSpan } from '../telemetry/span.ts';
import { describe, isFate, type OutgoingEvent, PublishError, type Route } from './destination.ts';
import type { EventName, OnReport } from './report.ts';

/** Moments of a delivery at which a process may die; tests kill it there. */
export type RelayPoint =
  /** Taken from the outbox: the lease is committed. */
  | 'claimed'
  /** Handed to the publisher; no answer yet. */
  | 'sent'
  /** The destination has the event; nothing is written down yet. */
  | 'acknowledged'
  /** Written down. */
  | 'marked';

interface RelayContext {
  store: Pick<OutboxStore<never>, 'takeHeads' | 'markDelivered' | 'postponeDelivery' | 'giveUp' | 'giveBack'>;
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

/** The figures of a pass of the relay, in events. */
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
/** The turn of an aggregate, after which others have theirs: it may never run dry, or its events may take long. */
const MAX_EVENTS_PER_TURN = 100;
const MAX_TURN_MS = 1000;
const LOOK_AGAIN_MS = 1000;
/** A pass that is told to stop gives back what it has just begun; what has taken longer was an attempt. */
const JUST_BEGUN_MS = 1000;

const NO_ACKNOWLEDGEMENT =
  'publish has returned a Response, an Error or a function, so nobody knows whether this arrived. Throw where it has not; else return nothing.';

/** One pass of the relay to one destination. */
interface Pass extends RelayContext, Pick<RelayOptions, 'until' | 'signal'> {
  route: Route;
  sum: Relayed;
}

/**
 * Sends what is due for one destination until nothing is: the next event of each aggregate, several aggregates at once,
 * one event of each after the other. At least once: an event counts as delivered only when that is committed. Counts in `sum`.
 */
export async function relayTo(context: RelayContext, route: Route, options: RelayOptions, sum: Relayed): Promise<void> {
  const { limit = LIMIT, until, signal } = options;
  if (signal) setMaxListeners(0, signal); // one listener for each aggregate
  const pass: Pass = { ...context, route, until, signal, sum };
  const sending = new Set<Promise<void>>();
  const problems: unknown[] = [];
  const start = (head: Delivery) => {
    const sent = sendInOrder(pass, head)
      .catch((problem) => void problems.push(problem))
      .finally(() => sending.delete(sent));
    sending.add(sent);
  };
  // Round and round, so that an aggregate late in the order of names has its turn, too. Where one has ended the next begins
  // at once: an event does not wait for a slow one of another aggregate. Where one look has filled all places the next leaves
  // them to what is new, so that retries do not keep that waiting.
  let round = { after: '', found: false };
  let isForNew = false;
  while (limit > 0 && !isOver(pass) && problems.length === 0) {
    const free = limit - sending.size;
    const look = { limit: free, ofDue: isForNew ? 0 : free, after: round.after };
    const { heads, after } = await pass.store.takeHeads(route.name, pass.leaseMs, look);
    for (const head of heads) start(head);
    isForNew = !isForNew && heads.length === free;
    const found = round.found || heads.length > 0;
    if (after === undefined && !found && sending.size === 0) break;
    round = after === undefined ? { after: '', found: false } : { after, found };
    if (sending.size === limit) await Promise.race(sending);
    // Looks again for events that are announced meanwhile, or become due, while slow ones are under way.
    else if (after === undefined && sending.size > 0)
      await settleWithin(Promise.race(sending), LOOK_AGAIN_MS, () => {});
  }
  await Promise.all(sending);
  if (problems.length > 0) throw problems[0];
}

function isOver({ until, signal }: Pass): boolean {
  return (until?.aborted || signal?.aborted) ?? false;
}

/** Sends the head of an aggregate, and what follows it while the turn of that aggregate lasts. */
async function sendInOrder(pass: Pass, head: Delivery): Promise<void> {
  let held: Delivery | undefined = head;
  const began = performance.now();
  for (let count = 1; held; count++) {
    const name = nameOf(held);
    await pass.onPoint('claimed', name);
    const failure = await send(pass, held);
    if (failure) return await recordFailure(pass, held, failure);
    await pass.onPoint('acknowledged', name);
    const isTurnOver = count >= MAX_EVENTS_PER_TURN || performance.now() - began >= MAX_TURN_MS;
    const goesOn = !isTurnOver && !isOver(pass);
    const { marked, next } = await pass.store.markDelivered(held, goesOn ? pass.leaseMs : null);
    if (!marked) return reportLost(pass, name);
    pass.sum.delivered++;
    const { destination, createdAt } = held;
    messageMetrics()?.deliveries.add(1, { destination, outcome: 'delivered' });
    messageMetrics()?.lag.record(Math.max(0, Date.now() - createdAt.getTime()), { destination });
    await pass.onPoint('marked', name);
    held = next;
  }
}

interface Failure {
  thrown: unknown;
  tookMs: number;
}

/** Sends it once. Undefined says that the destination has taken it; a failure that it may have, for all that is known. */
async function send(pass: Pass, held: Delivery): Promise<Failure | undefined> {
  const { leaseMs, onPoint, route } = pass;
  // Taken more often than it is tried: its relays did not live to write down what came of it.
  if (held.attempts > route.attempts) {
    const thrown = new PublishError(`Taken ${held.attempts - 1} times, and no relay came back.`, { next: 'give-up' });
    return { thrown, tookMs: 0 };
  }
  // Ends before the lease: what the destination is told later could overtake what another relay tells it.
  const deadlineMs = Math.floor(Math.min(route.timeoutMs, (leaseMs * 2) / 3));
  const limit = limitAttempt(deadlineMs, pass.signal);
  const began = performance.now();
  const { eventId, destination, type, attempts, headers: from } = held;
  const attributes = {
    'messaging.operation.name': 'send',
    'messaging.message.id': eventId,
    'messaging.destination.name': destination,
    'oncekit.event.type': type,
    'oncekit.attempt': attempts,
  };
  // It belongs to the trace that has announced the event.
  const span = { kind: 'producer', attributes, from } as const;
  const publish = async () => {
    const attempt = { signal: limit.signal, deadlineMs, attempt: attempts };
    const sending = inSpan(`send ${destination}`, span, async () => {
      const answer: unknown = await route.publisher.publish(eventOf(held), attempt);
      if (!isResult(answer)) throw new PublishError(NO_ACKNOWLEDGEMENT);
    });
    sending.catch(() => {}); // awaited below, or too late to matter
    await onPoint('sent', nameOf(held));
    await sending;
  };
  try {
    // A publisher may take no notice of its signal.
    await untilAborted(limit.signal, publish);
    return undefined;
  } catch (thrown) {
    return { thrown, tookMs: performance.now() - began };
  } finally {
    limit.end();
  }
}

/** Puts the event off, gives it back, or gives it up. */
async function recordFailure(pass: Pass, held: Delivery, { thrown: error, tookMs }: Failure): Promise<void> {
  const { store, route, random, report, sum } = pass;
  const event = nameOf(held);
  const refusal = error instanceof PublishError ? error : undefined;
  if (refusal?.next === 'stop') {
    await store.giveBack(held, refusal.message);
    sum.unfinished++;
    return report({ kind: 'stopped', error, event });
  }
  if (pass.signal?.aborted && tookMs < JUST_BEGUN_MS) {
    await store.giveBack(held, null);
    sum.unfinished++;
    return;
  }
  const attempt = held.attempts;
  if (refusal?.next === 'give-up' || attempt >= route.attempts) {
    let words = describe(error);
    let blocks = true;
    try {
      const said = returned('onDead', route.onDead(eventOf(held)), isFate, "'block' or 'skip', at once");
      blocks = said === 'block';
    } catch (thrown) {
      // A judge that fails has not said that the event may be left out.
      words += ` (and onDead failed: ${describe(thrown)})`;
    }
    if (!(await store.giveUp(held, blocks ? 'dead' : 'skipped', words))) return reportLost(pass, event);
    sum.dead++;
    return report({ kind: 'dead', error, attempt, blocks, event });
  }
  const pauseMs = Math.max(retryAfterOf(refusal), equalJitter(attempt, route.backoff, random()));
  if (!(await store.postponeDelivery(held, pauseMs, describe(error)))) return reportLost(pass, event);
  sum.failed++;
  report({ kind: 'failed', error, attempt, blocks: true, event });
}

function reportLost({ sum, report }: Pass, event: EventName): void {
  sum.unfinished++;
  report({ kind: 'lost', event });
}

/**
 * A signal that is aborted after `ms` or by `stop`. By hand, not by AbortSignal.any: on Node 20 that leaks one signal per
 * attempt for as long as `stop` lives.
 */
function limitAttempt(ms: number, stop: AbortSignal | undefined): { signal: AbortSignal; end: () => void } {
  const controller = new AbortController();
  const onStop = () => controller.abort(new PublishError('The relay was stopped.'));
  const timer = setTimeout(() => controller.abort(new PublishError(`No answer within ${ms} ms.`)), ms);
  stop?.addEventListener('abort', onStop, { once: true });
  if (stop?.aborted) onStop();
  const end = () => {
    clearTimeout(timer);
    stop?.removeEventListener('abort', onStop);
  };
  return { signal: controller.signal, end };
}

function eventOf(held: Delivery): OutgoingEvent {
  const { eventId: id, type, aggregate, sequence, payload, headers, derivedKey, createdAt } = held;
  return { id, type, aggregate, sequence, payload, headers, derivedKey, createdAt };
}

function nameOf({ eventId, destination: peer, aggregate, type }: Delivery): EventName {
  return { eventId, peer, aggregate, type };
}
