import type { Backoff } from '../core/backoff.ts';
import { assertSetUp, ConfigurationError, IdempotencyError } from '../core/errors.ts';

/** An event as it goes out. The same in every attempt, so that consumers may compare its bytes. */
export interface OutgoingEvent {
  /**
   * A UUID: consumers tell a repetition by it. The same in every delivery, and in every execution of the intent that
   * announces it, so also where a failover has lost the first execution.
   */
  id: string;
  /** At most 100 of A-Z a-z 0-9 . _ - */
  type: string;
  /** Any text of 1 to 255 characters: encode it where it becomes a header, a subject or a part of a URL. */
  aggregate: string;
  /** 1, 2, 3, … in its aggregate, without gaps. */
  sequence: number;
  /** JSON, the same bytes in every attempt, at most 256 KiB. */
  payload: string;
  /** The trace's and the app's own, together at most 8 KiB: names in lower case, values of visible ASCII. */
  headers: Record<string, string>;
  /** The identity of the intent and step that it comes from; what a consumer may hand on as an idempotency key. */
  derivedKey: string;
  createdAt: Date;
}

/** One try to ship an event, and the time that it has. */
export interface Attempt {
  /**
   * Aborted when the time is up, or the relay is told to stop. The attempt has then failed, whatever the publisher does.
   * Send nothing from then on: another relay may have the event, and later events of its aggregate.
   */
  signal: AbortSignal;
  /** The time of the whole attempt, for a client that takes a timeout: the destination's `timeoutMs`, or less by the lease. */
  deadlineMs: number;
  /** 1 for the first. */
  attempt: number;
}

/** Ships events to one destination: a webhook, a stream, a queue. */
export interface Publisher {
  /**
   * Resolves when the destination has acknowledged the event, and not before: the relay then marks it as delivered, and
   * never sends it again. A client's buffer is no acknowledgement.
   *
   * A Response, an Error or a function that it returns acknowledges nothing: the attempt has failed. Of a `fetch` of your own look
   * at the status.
   *
   * Whatever it throws is a failed attempt, which may have arrived all the same: the event is sent again later, and after
   * the last attempt it is a dead letter. Throw a `PublishError` to say more. So an event may go out more than once, even
   * by two relays at once: its `id` must reach the destination or the consumer, who drops repetitions by it.
   *
   * The next event of an aggregate comes when this one is acknowledged; events of other aggregates come meanwhile. A client
   * that repeats or reorders what it was given, later and by itself, loses that order: turn that off.
   */
  publish(event: OutgoingEvent, attempt: Attempt): Promise<void>;
  /** Gives connections back: `outbox.close()` calls it. A later event may open others. */
  close?(): Promise<void>;
}

/**
 * A failed attempt that says more than "failed". Its message is stored and shown to admins: no payload, no answer's body,
 * no address with a password. Of any other error name and code are stored.
 *
 * `next`: `retry` later (default), no sooner than `retryAfterMs` (at most an hour); `stop` sending anything to this
 * destination until a person resumes it; `give-up` on this event, which becomes a dead letter at once.
 */
export class PublishError extends IdempotencyError {
  override readonly name = 'PublishError';
  readonly next: 'retry' | 'stop' | 'give-up';

  constructor(message: string, facts: Partial<Pick<PublishError, 'next' | 'retryAfterMs' | 'cause'>> = {}) {
    const { next = 'retry', retryAfterMs, cause } = facts;
    super(message, { cause, retryAfterMs });
    this.next = next;
  }
}

/** Describes an error for storage: our own words, else its name and code. Its message might hold what was sent. */
export function describe(error: unknown): string {
  if (error instanceof IdempotencyError) return String(error.message);
  if (!(error instanceof Error)) return typeof error;
  const { name, code } = error as { name: unknown; code?: unknown };
  return typeof code === 'string' && /^[\w.-]{1,60}$/.test(code) ? `${String(name)} ${code}` : String(name);
}

/** A receiver of events. */
export interface Destination {
  /** Stored with each delivery, so never rename it while deliveries may be waiting. */
  name: string;
  publisher: Publisher;
  /** Types that it gets; left out: all. Asked when an event is enqueued. */
  types?: readonly string[];
  /** How long one attempt may take, at most two thirds of the lease. Default 10,000 ms. */
  timeoutMs?: number;
  /** How often an event is tried before it is a dead letter. Default 20, which takes 4 to 8 hours. */
  attempts?: number;
  /** Default: from 1 s, doubled up to 1 h, half of it at random. */
  backoff?: Backoff;
  /** A dead letter's effect on its aggregate: `block` it until a person looks (default), or `skip` the event. */
  onDead?: 'block' | 'skip' | ((event: OutgoingEvent) => 'block' | 'skip');
}

/** A destination, checked and filled in. */
export interface Route extends Required<Omit<Destination, 'types' | 'onDead'>> {
  onDead: (event: OutgoingEvent) => 'block' | 'skip';
}

/** True for what becomes of an aggregate by a dead letter. */
export const isFate = (said: unknown) => said === 'block' || said === 'skip';

/** @throws ConfigurationError for two of one name, and for one that cannot be used */
export function routesOf(destinations: readonly Destination[]): Route[] {
  const routes = destinations.map(routeOf);
  const names = routes.map(({ name }) => name);
  if (new Set(names).size === names.length) return routes;
  throw new ConfigurationError('Two destinations have one name.', { existing: names, expected: 'a name for each' });
}

function routeOf(destination: Destination): Route {
  const { name, publisher, timeoutMs = 10_000, attempts = 20, onDead = 'block' } = destination;
  const { backoff = { baseMs: 1000, capMs: 3_600_000 } } = destination;
  assertSetUp(/^[a-z][a-z0-9_.-]{0,99}$/.test(name), 'A destination needs a short name.', {
    existing: name,
    expected: 'a lower case letter, then up to 99 of a-z 0-9 . _ -',
  });
  const isFit = Number.isInteger(attempts) && attempts >= 1 && typeof timeoutMs === 'number' && timeoutMs > 0;
  assertSetUp(isFit && (typeof onDead === 'function' || isFate(onDead)), `The destination ${name} cannot be used.`, {
    existing: { attempts, timeoutMs, onDead },
    expected: "at least one attempt, time for it, and 'block', 'skip' or a function for onDead",
  });
  assertBackoff(name, backoff, 1);
  const judge = typeof onDead === 'function' ? onDead : () => onDead;
  return { name, publisher, timeoutMs, attempts, backoff, onDead: judge };
}

/** @throws ConfigurationError for pauses that would use up all attempts at once, or never end */
export function assertBackoff(name: string, backoff: Backoff, leastMs: number): void {
  const { baseMs, capMs, factor = 2 } = backoff;
  assertSetUp(
    [baseMs, capMs, factor].every(Number.isFinite) && baseMs >= leastMs && capMs >= baseMs && factor >= 1,
    `The backoff of ${name} would use up all attempts at once, or never end.`,
    { existing: backoff, expected: `a baseMs from ${leastMs} on, a capMs that is no less, and a factor from 1 on` },
  );
}
