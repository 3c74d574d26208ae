import { IdempotencyError } from '../core/errors.ts';

/** An event as it goes out. The same in every attempt but for the attempt's number. */
export interface OutgoingEvent {
  /**
   * A UUID: consumers tell a repetition by it. The same in every delivery, and in every execution of the intent that
   * announces it, so also where a failover has lost the first execution.
   */
  id: string;
  type: string;
  aggregate: string;
  /** 1, 2, 3, … in its aggregate, without gaps. */
  sequence: number;
  /** JSON, the same bytes in every attempt. */
  payload: string;
  headers: Record<string, string>;
  /** The identity of the intent and step that it comes from; what a consumer may hand on as an idempotency key. */
  derivedKey: string;
  createdAt: Date;
}

/** One try to ship an event, and the time that it has. */
export interface Attempt {
  /** Aborted when the time is up, or the relay is told to stop. */
  signal: AbortSignal;
  deadlineMs: number;
  /** 1 for the first. */
  attempt: number;
}

/**
 * Ships events to one destination: a webhook, a stream, a queue. Must not resolve before the destination has taken the
 * event for good; whatever it throws is a failed attempt. Called more than once for an event, so the event's id must
 * reach the consumer.
 */
export interface Publisher {
  publish(event: OutgoingEvent, attempt: Attempt): Promise<void>;
  close?(): Promise<void>;
}

/**
 * A failed attempt that says more than "failed". Its message is stored and shown to admins: no payload, no answer's body.
 *
 * `next`: `retry` later (default); `stop` sending anything to this destination until a person resumes it; `give-up` on
 * this event, which becomes a dead letter at once.
 */
export class PublishError extends IdempotencyError {
  override readonly name = 'PublishError';
  readonly next: 'retry' | 'stop' | 'give-up';
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    {
      next = 'retry',
      retryAfterMs,
      cause,
    }: { next?: PublishError['next']; retryAfterMs?: number | undefined; cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.next = next;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Describes an error for storage: our own words, else its name and code. Its message might hold what was sent. */
export function describe(error: unknown): string {
  if (error instanceof IdempotencyError) return error.message;
  if (!(error instanceof Error)) return typeof error;
  const { name, code } = error as Error & { code?: unknown };
  return typeof code === 'string' && /^[\w.-]{1,60}$/.test(code) ? `${name} ${code}` : name;
}
