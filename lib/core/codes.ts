/** The caller's next move: nothing, try again with the same key, or let a person start a new intent. */
export type Retry = 'never' | 'same-key' | 'new-key';

/**
 * How calls are counted that have reached a key:
 *
 * - `created`: it was done by this call;
 * - `failed`: this call ended in a refusal that was stored;
 * - `replayed`: answered with what was stored before, a refusal too, or told that it is done;
 * - `in_flight`: turned away because another call of the key is at work;
 * - `mismatch`: turned away because the key was used with another payload;
 * - `expired`: turned away because the key is too old, or was given up;
 * - `unknown`: nobody knows yet what became of it;
 * - `error`: ended without an answer, by an error of ours.
 */
export const TALLIED = [
  'created',
  'replayed',
  'failed',
  'in_flight',
  'mismatch',
  'expired',
  'unknown',
  'error',
] as const;

/** The kind that a call counts as, one of `TALLIED`. */
export type Tallied = (typeof TALLIED)[number];

/**
 * How a key is answered to a call that has not executed it: with what is stored, or with one of these codes. Each is counted
 * beside the key, as an event of that type.
 */
export const REPEATS = ['replayed', 'in_flight', 'payload_mismatch', 'outcome_unknown', 'key_abandoned'] as const;

interface Advice {
  /** HTTP status of the refusal. `failed` carries the status its handler stored instead. */
  readonly status: number;
  readonly retry: Retry;
  /** A sentence for a person in front of a form, used unless the operation gives a better one. */
  readonly message: string;
  /** A sentence for whoever calls an API. None advises to send again: that depends on the request, too, and `retry` says it. */
  readonly detail: string;
  /** How a call that was refused with it is logged and counted. Default: at `info`, and not counted. */
  readonly telemetry?: {
    /** Of its line in the log. `error`: nobody has intended it. */
    readonly level: 'info' | 'warn' | 'error';
    /** The counter it adds to, where it says something about keys. */
    readonly counter?: 'conflict' | 'mismatch' | 'expired';
    /** The kind that it counts as in the admin's chart. None from before its key mattered: it says nothing about keys. */
    readonly tallied?: Tallied;
  };
}

/** Every code: its status, its retry advice, its words, how it is logged and counted. The error pages and the tests hold to this table. */
export const ADVICE = {
  validation: {
    status: 400,
    retry: 'same-key',
    message: 'Some fields need your attention.',
    detail: 'The input does not fit the schema: see `fieldErrors`.',
  },
  malformed_body: {
    status: 400,
    retry: 'never',
    message: 'The request could not be read.',
    detail: 'The body cannot be read.',
  },
  unsupported_media_type: {
    status: 415,
    retry: 'never',
    message: 'This content type is not accepted.',
    detail: 'The Content-Type of the body is not accepted.',
  },
  payload_too_large: {
    status: 413,
    retry: 'never',
    message: 'What was sent is too large, so nothing was done just now.',
    detail: 'The body is too large.',
  },
  key_missing: {
    status: 400,
    retry: 'new-key',
    message: 'The idempotency key is missing.',
    detail: 'The request has no idempotency key: send one in the header Idempotency-Key.',
  },
  key_malformed: {
    status: 400,
    retry: 'new-key',
    message: 'The idempotency key is not well-formed.',
    detail: 'The idempotency key is not 1 to 255 visible ASCII characters without comma and quotes.',
  },
  key_invalid: {
    status: 400,
    retry: 'never',
    message:
      'Your session has changed since this page was opened, so nothing was done just now. Sign in as before, and allow cookies where your browser blocks them. Then try again.',
    detail: 'The idempotency key was not issued to this caller for this operation, so this request was not executed.',
    telemetry: { level: 'warn' },
  },
  key_expired: {
    status: 410,
    retry: 'never',
    message: 'This page was open for too long, so nothing was done just now. Reload it to see how things stand.',
    detail:
      'The idempotency key is too old, so this request was not executed. What came of an earlier one is not kept.',
    telemetry: { level: 'info', counter: 'expired', tallied: 'expired' },
  },
  key_abandoned: {
    status: 410,
    retry: 'new-key',
    message: 'This was called off before it was done, so nothing was done. Send it again if you still want it.',
    detail: 'The idempotency key was given up before it was executed, and is never executed.',
    telemetry: { level: 'info', tallied: 'expired' },
  },
  unauthorized: {
    status: 401,
    retry: 'same-key',
    message: 'Please sign in, then send it again.',
    detail: 'The request has no valid credentials.',
  },
  precondition_failed: {
    status: 412,
    retry: 'never',
    message: 'It has changed since you read it.',
    detail: 'The resource has another version than the request says.',
  },
  precondition_required: {
    status: 428,
    retry: 'never',
    message: 'Say which version you are changing.',
    detail: 'The request must say which version of the resource it changes, in the header If-Match.',
  },
  not_found: {
    status: 404,
    retry: 'never',
    message: 'There is nothing here.',
    detail: 'There is nothing at this address.',
  },
  payload_mismatch: {
    status: 422,
    retry: 'never',
    message: 'This form was already sent with other values, so these were not used.',
    detail: 'This was first sent with other content, so this request was not executed.',
    telemetry: { level: 'warn', counter: 'mismatch', tallied: 'mismatch' },
  },
  in_flight: {
    status: 409,
    retry: 'same-key',
    message: 'Your first submission is still being processed.',
    detail: 'The first request with this idempotency key is still being executed.',
    telemetry: { level: 'info', counter: 'conflict', tallied: 'in_flight' },
  },
  already_done: {
    status: 409,
    retry: 'never',
    message: 'This has been done already. There is no need to send it again.',
    detail: 'This was done already, under another idempotency key.',
    telemetry: { level: 'info', counter: 'conflict', tallied: 'replayed' },
  },
  outcome_unknown: {
    status: 409,
    retry: 'same-key',
    message: 'It may have gone through. Please do not send it again: we are finding out. You can close this page.',
    detail: 'The first request with this idempotency key may have been executed: the server is finding out.',
    telemetry: { level: 'warn', tallied: 'unknown' },
  },
  rate_limited: {
    status: 429,
    retry: 'same-key',
    message: 'Too many requests. Please wait a moment.',
    detail: 'There were too many requests.',
  },
  failed: {
    status: 422,
    retry: 'new-key',
    message: 'This could not be done.',
    detail: 'The request was refused.',
    telemetry: { level: 'info', tallied: 'failed' },
  },
  deferred: {
    status: 503,
    retry: 'same-key',
    message: 'This cannot be done just now. Please send it again in a moment.',
    detail: 'The request was put off.',
  },
  not_kept: {
    status: 422,
    retry: 'same-key',
    message: 'This could not be done, and nothing was changed. You can send it again.',
    detail: 'The request was rolled back, and its answer is not kept.',
  },
  already_exists: {
    status: 409,
    retry: 'same-key',
    message: 'This is there already. Look at what is there, or change what you entered.',
    detail: 'A unique value of the request is taken already.',
    telemetry: { level: 'warn' },
  },
  unavailable: {
    status: 503,
    retry: 'same-key',
    message: 'The service is not available right now.',
    detail: 'The service is not available right now.',
    telemetry: { level: 'error', tallied: 'error' },
  },
  phase_mismatch: {
    status: 500,
    retry: 'never',
    message:
      'The site was changed while this was under way, so it could not be finished. Ask us before you send it again.',
    detail: 'The operation was changed before this request was finished, so it cannot be finished.',
    telemetry: { level: 'error', tallied: 'error' },
  },
  result_unreadable: {
    status: 500,
    retry: 'never',
    message: 'This has been dealt with, but we cannot show what came of it. There is no need to send it again.',
    detail: 'The request was executed. Its stored answer cannot be read.',
    telemetry: { level: 'error', tallied: 'error' },
  },
  result_too_large: {
    status: 500,
    retry: 'never',
    message: 'This could not be done, and nothing was changed. Sending it again will not help.',
    detail: 'The answer is too large to be stored, so the request was rolled back.',
    telemetry: { level: 'error', tallied: 'error' },
  },
  internal: {
    status: 500,
    retry: 'same-key',
    message: 'Something went wrong on our side. You can send it again.',
    detail: 'Something went wrong on the server.',
    telemetry: { level: 'error', tallied: 'error' },
  },
} as const satisfies Record<string, Advice>;

/** A failure's code. Each has a page: `docs/errors/<code>.md`. */
export type Code = keyof typeof ADVICE;

/** How refusals with this code are logged and counted. */
export function telemetryOf(code: Code): NonNullable<Advice['telemetry']> {
  const { telemetry = { level: 'info' } }: Advice = ADVICE[code];
  return telemetry;
}

/** The part of a refusal that is about its key, whatever an earlier attempt has done. */
type Meaning =
  /** Nothing will come of the key any more: a stored refusal, a tombstone, an unreadable answer, or somebody else's. */
  | 'settled'
  /** The first submission is not over. */
  | 'running'
  /** The key was used for other values. */
  | 'mismatch'
  /** Nothing definite. The same key may be sent again without asking a person. */
  | 'transient'
  /** The key is not taken from this person, or not any more. */
  | 'unacceptable'
  /** This attempt was turned away. */
  | 'attempt';

/**
 * What each code tells a form about its key. A code that a newer server may send and that is not here counts as `attempt`.
 *
 * Not a member of `ADVICE`, because browsers load it: from one object a bundler cannot leave out the words.
 */
export const MEANINGS: Readonly<Record<Code, Meaning>> = {
  validation: 'attempt',
  malformed_body: 'attempt',
  unsupported_media_type: 'attempt',
  payload_too_large: 'attempt',
  key_missing: 'attempt',
  key_malformed: 'unacceptable',
  key_invalid: 'unacceptable',
  key_expired: 'unacceptable',
  key_abandoned: 'settled',
  unauthorized: 'attempt',
  precondition_failed: 'attempt',
  precondition_required: 'attempt',
  not_found: 'attempt',
  payload_mismatch: 'mismatch',
  in_flight: 'running',
  already_done: 'settled',
  outcome_unknown: 'running',
  rate_limited: 'transient',
  failed: 'settled',
  deferred: 'transient',
  not_kept: 'attempt',
  already_exists: 'attempt',
  unavailable: 'transient',
  phase_mismatch: 'attempt',
  result_unreadable: 'settled',
  result_too_large: 'attempt',
  internal: 'transient',
};
