import { IdempotencyError } from '../../core/errors.ts';

/** Why a failure that could have been tried again was not. */
export type StoppedBy =
  /** All attempts of the policy are used up. */
  | 'attempts'
  /** The next wait would outlast the deadline. */
  | 'deadline'
  /** Retries would be more than their share of all requests. */
  | 'budget'
  /** The circuit of this origin has opened. */
  | 'circuit'
  /** POST, PATCH or an unknown method, sent without a key. */
  | 'no_key'
  /** The body is a stream: it can be sent once. */
  | 'body'
  /** `X-Retry-Layer: none`: another layer retries. */
  | 'retry_layer'
  /** The caller's signal. */
  | 'aborted';

/**
 * No answer came: a lost connection or a timeout. Whether the server did it is unknown. Send the same `key` again later,
 * with the same content; never a new one.
 */
export class NoAnswerError extends IdempotencyError {
  override readonly name = 'NoAnswerError';
  /** The last attempt brought no answer, and none of the earlier ones is proof. */
  readonly executed = 'unknown';
  /** How many requests were sent; 0 where no time was left for any. */
  readonly attempts: number;
  /** The key to send again. Undefined where the call had no key. */
  readonly key: string | undefined;
  readonly stoppedBy: StoppedBy;

  constructor({ attempts, key, stoppedBy, cause }: Pick<NoAnswerError, 'attempts' | 'key' | 'stoppedBy' | 'cause'>) {
    const sent = attempts === 1 ? 'once' : `${attempts} times`;
    super(`No answer came (sent ${sent}, stopped by: ${stoppedBy}). Whether it was done is unknown.`, { cause });
    this.attempts = attempts;
    this.key = key;
    this.stoppedBy = stoppedBy;
  }
}

/** The origin has failed so often in a row that this call sent nothing. Try again, with the same `key`, later. */
export class CircuitOpenError extends IdempotencyError {
  override readonly name = 'CircuitOpenError';
  /** This call sent nothing; of an earlier one with this key nothing is known. */
  readonly executed = 'unknown';
  readonly origin: string;
  readonly key: string | undefined;
  /** Milliseconds until the next call is let through to see; 0 while one is on its way. */
  override readonly retryAfterMs: number;

  constructor({ origin, key, retryAfterMs }: Pick<CircuitOpenError, 'origin' | 'key' | 'retryAfterMs'>) {
    super(`${origin} has failed too often in a row; nothing was sent.`);
    this.origin = origin;
    this.key = key;
    this.retryAfterMs = retryAfterMs;
  }
}

/** One attempt took longer than it may. The `cause` of a `NoAnswerError`. */
export class AttemptTimeoutError extends IdempotencyError {
  override readonly name = 'AttemptTimeoutError';
  readonly timeoutMs: number;

  constructor(timeoutMs: number) {
    super(`No answer within ${timeoutMs} ms.`);
    this.timeoutMs = timeoutMs;
  }
}
