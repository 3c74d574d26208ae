import { hash } from 'node:crypto';
import { type Backoff, equalJitter } from '../core/backoff.ts';
import { canonicalText } from '../core/canonical.ts';
import { copyOf, jsonText } from '../core/data.ts';
import { assertSetUp, IdempotencyError, MAX_RESULT_BYTES, ResultTooLargeError } from '../core/errors.ts';
import { type Duration, isResult, returned } from '../core/options.ts';
import { assertStorableName } from '../core/scope.ts';
import { type InboxStore, isSamePayload, type KnownRow, type Receipt, type Receiving } from '../store/messages.ts';
import { messageMetrics } from '../telemetry/metrics.ts';
import { inSpan, markFailed } from '../telemetry/span.ts';
import { describe } from './destination.ts';
import type { EventName, OnReport } from './report.ts';

/** Moments of a reception at which a process may die; tests kill it there. */
export type InboxPoint = 'claimed' | 'handled' | 'committed';

/** An event as it arrives, with its sender proven (a signature, a private queue). */
export interface ReceivedEvent {
  /** The sender, such as `stripe`: ids of one sender are none of another's. */
  source: string;
  /** The sender's name for it, the same in every delivery. */
  eventId: string;
  payload: unknown;
}

/** The effect of an event, in one transaction with the row that says that it was done. It says by throwing that it failed. */
export type Effect<Tx, R> = (tx: Tx, event: ReceivedEvent) => Promise<R>;

/**
 * The fate of an event. `processed` and `replayed` are to be acknowledged. Of what is not done, `isKept` says whether its
 * payload is kept and the `handle` of its source runs it again: else only the sender can repeat it, and an acknowledgement
 * would lose it.
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
  /** The part of the payload that must be the same in every delivery. Left out: all of it. What it throws for what is kept is a failed try. */
  compare?: (payload: never) => unknown;
  /** The effect of its events; with it, `receiveOnce` needs no second argument, and failed events can be run again. */
  handle?: Effect<Tx, unknown>;
}

/** The settings of an inbox on any store. */
export interface InboxSettings<Tx> {
  /** Left out: it knows none, as that of an admin view, and requeues for inboxes that do. */
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

/** An inbox that is set up: its store, and its settings checked and filled in. */
export interface InboxContext<Tx> extends Required<Omit<InboxSettings<Tx>, 'retention' | 'onReport'>> {
  store: InboxStore<Tx>;
  /** The names of the sources that have a `handle`, by which their failed events are run again. */
  handled: readonly string[];
  retentionMs: number;
  report: OnReport;
  /** Lets the deliveries of one event run one after the other in this process. */
  mutex: KeyedMutex;
}

/** An event that the inbox has taken by itself, because it is to be tried again. */
interface Retry {
  /** The number of the attempt that it was taken for. */
  readonly taken: number;
  /** True as soon as it counts: its effect has begun, or its payload cannot be compared. */
  counts: boolean;
}

/** One delivery of an event, as it is received. */
interface Reception {
  payload: unknown;
  receipt: Receipt;
  /** The number of the attempt that it was taken for, because it was due, with the payload that counts. */
  taken: number | undefined;
}

/** How often an effect is tried that other transactions get in the way of. */
export const MAX_CONFLICTS = 3;

/**
 * Lets an event take effect once, in a span of its own.
 *
 * @param given the effect; left out: the `handle` of its source
 * @param retry left out: it is its sender's delivery
 */
export async function receiveEvent<Tx, R>(
  context: InboxContext<Tx>,
  { source, eventId, payload }: ReceivedEvent,
  given: Effect<Tx, R> | undefined,
  retry?: Retry,
): Promise<Received<R>> {
  // Before anything is awaited, and the app's code has only copies of it: what was received is compared, tried and kept.
  const event = copyOf({ source, eventId, payload });
  const attributes = {
    'messaging.operation.name': 'process',
    'messaging.message.id': eventId,
    'oncekit.source': source,
  };
  return await inSpan(`process ${source}`, { kind: 'consumer', attributes }, async (span): Promise<Received<R>> => {
    const received = await receive(context, event, given, retry);
    span.setAttribute('oncekit.outcome', received.kind);
    if ('error' in received) markFailed(span, received.error);
    messageMetrics()?.receptions.add(1, { source, outcome: received.kind });
    return received;
  });
}

async function receive<Tx, R>(
  context: InboxContext<Tx>,
  event: ReceivedEvent,
  effect: Effect<Tx, R> | undefined,
  retry: Retry | undefined,
): Promise<Received<R>> {
  const { source, eventId, payload } = event;
  const settings = Object.hasOwn(context.sources, source) ? context.sources[source] : undefined;
  const run = effect ?? (settings?.handle as Effect<Tx, R> | undefined);
  assertSetUp(run, `Nothing says what events of ${source} do.`, { expected: 'a handle, or a second argument' });
  assertStorableName(source, 100, 'A received event needs a source.');
  assertStorableName(eventId, 255, 'A received event needs an id.');
  const receipt: Receipt = { source, eventId, payloadHash: new Uint8Array(32) };
  const reception = { payload, receipt, taken: retry?.taken };
  try {
    const own = copyOf(payload) as never;
    const compared = settings?.compare ? returned(`compare of ${source}`, settings.compare(own)) : payload;
    // Of what must be the same in every delivery, whatever the order of its fields.
    receipt.payloadHash = new Uint8Array(hash('sha256', await canonicalText(compared), 'buffer'));
  } catch (error) {
    if (!retry) throw error; // its sender repeats it
    retry.counts = true;
    return await recordFailure(context, reception, error);
  }
  // Its processes did not live to write down what came of it, or `attempts` was more when it failed.
  if (retry && retry.taken > context.attempts) {
    const error = new IdempotencyError('It was taken more often than it may be tried.');
    return await recordFailure(context, reception, error);
  }

  let result: R | undefined;
  const received = await runEffect(context, reception, async (tx) => {
    if (retry) retry.counts = true;
    const made = await run(tx, copyOf(event));
    result = returned<R>(`effect of ${source}`, made, isResult, 'data; throw to have the event tried again');
    return jsonResult(result);
  });
  if (received.kind === 'existing') return await answerKnown(context, reception, received.row);
  if (received.kind === 'failed') {
    if (retry && !retry.counts) throw received.error;
    return await recordFailure(context, reception, received.error);
  }
  await context.onPoint('committed', nameOf(receipt));
  return { kind: 'processed', result: result as R };
}

/** Runs the effect in one transaction with the event's row, and again where another transaction got in the way. */
function runEffect<Tx>(
  context: InboxContext<Tx>,
  { receipt, taken }: Reception,
  effect: (tx: Tx) => Promise<string | null>,
): Promise<Receiving> {
  const { store, mutex, timeoutMs, retentionMs } = context;
  const name = nameOf(receipt);
  const onPoint = async (point: 'claimed' | 'handled') => context.onPoint(point, name);
  const run = async () => {
    for (let attempt = 1; ; attempt++) {
      const tried = await store.receive(receipt, effect, { timeoutMs, retentionMs, taken, onPoint });
      if (tried.kind !== 'failed' || !tried.isConflict || attempt === MAX_CONFLICTS) return tried;
    }
  };
  // Of those that were taken few run at once, and their leases do not wait behind deliveries.
  return taken === undefined ? mutex.run(JSON.stringify([receipt.source, receipt.eventId]), run) : run();
}

/** Counts a failed attempt. The error says nothing about the commit: the row does. */
async function recordFailure<Tx, R>(
  context: InboxContext<Tx>,
  { payload, receipt, taken }: Reception,
  error: unknown,
): Promise<Received<R>> {
  const { store, handled, attempts, backoff, random, report } = context;
  const pausesMs = Array.from({ length: attempts - 1 }, (_, n) => equalJitter(n + 1, backoff, random()));
  const kept = handled.includes(receipt.source) ? await keepable(payload) : null;
  const row = await store.recordFailure(receipt, { payload: kept, pausesMs, error: describe(error), taken });
  if (row.state === 'processed' || (taken === undefined && !isSamePayload(row, receipt))) {
    return await answerKnown(context, { receipt, taken }, row);
  }
  const isDead = row.state === 'dead';
  const kind = isDead ? 'not-processed-dead' : 'not-processed';
  report({ kind, error, attempt: row.attempts, event: nameOf(receipt) });
  const open = { error, attempts: row.attempts, isKept: row.isKept && handled.includes(receipt.source) };
  if (isDead) return { kind: 'dead', ...open };
  return { kind: 'failed', ...open, retryAfterMs: pausesMs[row.attempts - 1] ?? 0 };
}

/** Answers a delivery of an event whose fate another delivery has decided. */
async function answerKnown<Tx, R>(
  { store, handled, report }: InboxContext<Tx>,
  { receipt, taken }: Pick<Reception, 'receipt' | 'taken'>,
  row: KnownRow,
): Promise<Received<R>> {
  // An event that was taken has the payload that counts, also where a deploy compares another part of it.
  const differs = taken === undefined && !isSamePayload(row, receipt);
  if (differs) {
    await store.recordMismatch(receipt);
    messageMetrics()?.receptions.add(1, { source: receipt.source, outcome: 'mismatch' });
    report({ kind: 'mismatch', event: nameOf(receipt) });
  }
  const { state, attempts, nextAttemptAt } = row;
  // Nobody runs it again where an older kit has kept it without a `handle`.
  const isKept = row.isKept && handled.includes(receipt.source);
  if (state === 'dead') return { kind: 'dead', attempts, isKept };
  if (state === 'failed') {
    const error = new Error('The event has failed before, under another payload. That one counts, and is tried again.');
    const retryAfterMs = Math.max(0, (nextAttemptAt?.getTime() ?? 0) - Date.now());
    return { kind: 'failed', error, attempts, retryAfterMs, isKept };
  }
  const result = (row.result === null ? undefined : JSON.parse(row.result)) as R;
  return { kind: 'replayed', result, differs };
}

function nameOf({ source, eventId }: Receipt): EventName {
  return { eventId, peer: source };
}

/** A result as it is kept; null for none. */
function jsonResult(result: unknown): string | null {
  const json = jsonText(result);
  const bytes = Buffer.byteLength(json ?? '');
  if (bytes > MAX_RESULT_BYTES) throw new ResultTooLargeError('result of an event', bytes);
  return json ?? null;
}

/**
 * The payload that a failed event is run again with; null where it is too large or JSON would make something else of it (a
 * FormData, a Map), and only its sender can repeat it.
 */
async function keepable(payload: unknown): Promise<string | null> {
  try {
    const json = JSON.stringify(payload) as string | undefined;
    if (json === undefined || Buffer.byteLength(json) > MAX_RESULT_BYTES) return null;
    return (await canonicalText(JSON.parse(json))) === (await canonicalText(payload)) ? json : null;
  } catch {
    return null;
  }
}

/**
 * Lets calls of one name run one after the other in this process. Others wait for them in the database all the same; here
 * they wait without a connection, so that many deliveries of one slow event do not use up the pool.
 */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>();

  run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const mine = (this.#last.get(name) ?? Promise.resolve()).then(work);
    const leave = () => void (this.#last.get(name) === ended && this.#last.delete(name));
    const ended = mine.then(leave, leave);
    this.#last.set(name, ended);
    return mine;
  }
}
