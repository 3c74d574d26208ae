import type { Code } from './codes.ts';

interface Facts {
  /** The value that was found. */
  existing?: unknown;
  /** The value that was expected. */
  expected?: unknown;
  cause?: unknown;
  /** When it may be tried again, in milliseconds, where somebody has said so. */
  retryAfterMs?: number | undefined;
}

/** The base of every error the kit throws. `existing` and `expected` say what differed. */
export class IdempotencyError extends Error {
  // Said and not taken from the class, whose name a bundler may shorten.
  override readonly name: string = 'IdempotencyError';
  readonly existing: unknown;
  readonly expected: unknown;
  readonly retryAfterMs: number | undefined;

  constructor(message: string, { existing, expected, cause, retryAfterMs }: Facts = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.existing = existing;
    this.expected = expected;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Nobody is left alone for longer than that. */
const MAX_WAIT_MS = 3_600_000;

/** How long an error asks to wait, in milliseconds, at most an hour; 0 where it does not. Any may, such as a provider's. */
export function retryAfterOf(error: unknown): number {
  const { retryAfterMs } = (error ?? {}) as { retryAfterMs?: unknown };
  return typeof retryAfterMs === 'number' && retryAfterMs > 0 ? Math.min(retryAfterMs, MAX_WAIT_MS) : 0;
}

/** The kit was set up wrongly. Thrown where it is set up, or at first use; never a value. */
export class ConfigurationError extends IdempotencyError {
  override readonly name = 'ConfigurationError';
}

/** @throws ConfigurationError unless it can be meant so */
export function assertSetUp(isMeant: unknown, message: string, facts: Facts): asserts isMeant {
  if (!isMeant) throw new ConfigurationError(message, facts);
}

/** The result of a call, or `otherwise` where it throws, whatever that is. */
export function tryOr<T, Otherwise = undefined>(call: () => T, otherwise?: Otherwise): T | Otherwise {
  try {
    return call();
  } catch {
    return otherwise as Otherwise;
  }
}

/** Tells it by its name: a bundler may give a page and a route a copy of the class each. */
export function isSetUpWrongly(error: unknown): error is ConfigurationError {
  return error instanceof Error && error.name === 'ConfigurationError';
}

/** Code asked for a state change that the table in `key-state.ts` does not know. A bug, never a user's fault. */
export class IllegalTransitionError extends IdempotencyError {
  override readonly name = 'IllegalTransitionError';
}

/** Another executor took the key over; this one's write changed nothing and its transaction rolls back. */
export class LeaseLostError extends IdempotencyError {
  override readonly name = 'LeaseLostError';
}

/**
 * A query that a handler has left behind, in a timer, a loader or a listener; nothing was done. It went through `tx`, or by
 * another name of the client behind a rollback or an end that is not known, as the next attempt does it again.
 */
export class ExecutionClosedError extends IdempotencyError {
  override readonly name = 'ExecutionClosedError';
}

/** An error that has a code of the outcome union, and so becomes that refusal. */
export class CodedError extends IdempotencyError {
  override readonly name: string = 'CodedError';
  readonly code: Code;

  constructor(code: Code, message: string, facts?: Facts) {
    super(message, facts);
    this.code = code;
  }
}

/**
 * The data stored with a key was not written by this app: no instance will ever read it, and nothing is executed with it.
 * A person must look.
 */
export class UntrustedDataError extends CodedError {
  override readonly name = 'UntrustedDataError';

  constructor(message: string, facts?: Facts) {
    super('unavailable', message, facts);
  }
}

/** The payload cannot be read or compared: not JSON, too large, integers beyond 2^53. */
export class BadPayloadError extends CodedError {
  override readonly name = 'BadPayloadError';
}

/** Tells it by its name: routes throw it, and a bundler may give them a copy of the class other than the engine's. */
export function isBadPayload(error: unknown): error is BadPayloadError {
  return error instanceof Error && error.name === 'BadPayloadError';
}

/** 256 KiB (R4). */
export const MAX_RESULT_BYTES = 262_144;

/** A stored answer is larger than 256 KiB; the transaction rolls back (R4). */
export class ResultTooLargeError extends CodedError {
  override readonly name = 'ResultTooLargeError';

  constructor(what: string, bytes: number) {
    const facts = { existing: `${bytes} bytes`, expected: `at most ${MAX_RESULT_BYTES} bytes` };
    super('result_too_large', `The ${what} is too large to be stored. Return an id, or an address.`, facts);
  }
}

/** A stored answer of an older version, and no upcast leads here (R3). Never a second execution. */
export class ResultUnreadableError extends CodedError {
  override readonly name = 'ResultUnreadableError';
}
