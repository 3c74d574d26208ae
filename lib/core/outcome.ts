import type { FieldErrors } from './field-path.ts';

/**
 * The union every caller gets. Expected failures are values, never throws.
 * This file is free of Node, so that the browser half may import it.
 */

/** The caller's next move: nothing, try again with the same key, or let a person start a new intent. */
export type Retry = 'never' | 'same-key' | 'new-key';

/**
 * Says of the effect of this *key* whether it exists, not whether this attempt ran. `false` only where it is proven that
 * nothing was committed and nothing can have been (`proof.ts`); `'unknown'` is honest about everything else.
 */
export type Executed = boolean | 'unknown';

interface Advice {
  /** HTTP status of the refusal. `failed` carries the status its handler stored instead. */
  readonly status: number;
  readonly retry: Retry;
  /** A sentence for a person, used unless the operation gives a better one. */
  readonly message: string;
}

/** Every code, its status, its retry advice and its words. The error pages and the tests hold to this table. */
export const ADVICE = {
  validation: { status: 400, retry: 'same-key', message: 'Some fields need your attention.' },
  malformed_body: { status: 400, retry: 'never', message: 'The request could not be read.' },
  unsupported_media_type: { status: 415, retry: 'never', message: 'This content type is not accepted.' },
  payload_too_large: { status: 413, retry: 'never', message: 'What was sent is too large, so nothing was done.' },
  key_missing: { status: 400, retry: 'new-key', message: 'The idempotency key is missing.' },
  key_malformed: { status: 400, retry: 'new-key', message: 'The idempotency key is not well-formed.' },
  key_invalid: {
    status: 400,
    retry: 'never',
    message:
      'Your session has changed since this page was opened, so nothing was done just now. Sign in as before, then try again.',
  },
  key_expired: {
    status: 410,
    retry: 'never',
    message: 'This page was open for too long, so nothing was done just now. Reload it to see how things stand.',
  },
  key_abandoned: {
    status: 410,
    retry: 'new-key',
    message: 'This was called off before it was done, so nothing was done. Send it again if you still want it.',
  },
  unauthorized: { status: 401, retry: 'same-key', message: 'Please sign in, then send it again.' },
  precondition_failed: { status: 412, retry: 'never', message: 'It has changed since you read it.' },
  precondition_required: { status: 428, retry: 'never', message: 'Say which version you are changing.' },
  not_found: { status: 404, retry: 'never', message: 'There is nothing here.' },
  payload_mismatch: {
    status: 422,
    retry: 'never',
    message: 'This form was already sent with other values, so these were not used.',
  },
  in_flight: { status: 409, retry: 'same-key', message: 'Your first submission is still being processed.' },
  already_done: {
    status: 409,
    retry: 'never',
    message: 'This has been done already, by somebody else. There is no need to send it again.',
  },
  outcome_unknown: { status: 409, retry: 'same-key', message: 'We are finding out whether it went through.' },
  rate_limited: { status: 429, retry: 'same-key', message: 'Too many requests. Please wait a moment.' },
  failed: { status: 422, retry: 'new-key', message: 'This could not be done.' },
  unavailable: { status: 503, retry: 'same-key', message: 'The service is not available right now.' },
  phase_mismatch: {
    status: 500,
    retry: 'never',
    message:
      'The site was changed while this was under way, so it could not be finished. Ask us before you send it again.',
  },
  result_unreadable: {
    status: 500,
    retry: 'never',
    message: 'This has been dealt with, but we cannot show what came of it. There is no need to send it again.',
  },
  result_too_large: {
    status: 500,
    retry: 'never',
    message: 'This could not be done, and nothing was changed. Sending it again will not help.',
  },
  internal: { status: 500, retry: 'same-key', message: 'Something went wrong on our side. You can send it again.' },
} as const satisfies Record<string, Advice>;

/** A failure's code. Each has a page: `docs/errors/<code>.md`. */
export type Code = keyof typeof ADVICE;

/**
 * The words of a `payload_mismatch` for whoever may be told what the first submission came to, by the state of its key: only a
 * success is what counts. To be `executed` says no more than that there is an answer, which may be a refusal.
 */
export const MISMATCH_MESSAGES = {
  succeeded: 'This form was already sent with other values. The first submission counts.',
  failed: 'This form was already sent with other values, and was refused. Open it anew to send these.',
  in_progress: 'This form was already sent with other values, and is still being processed.',
  unknown: 'This form was already sent with other values. We are finding out whether it went through.',
  // A tombstone compares no payloads, and a row that has since gone tells nothing.
  abandoned: ADVICE.payload_mismatch.message,
  absent: ADVICE.payload_mismatch.message,
};

/** The effect exists, and this is its answer. */
export interface Success<T> {
  ok: true;
  data: T;
  /** True when nothing ran for this call: the answer is the stored one. */
  replayed: boolean;
  key: string;
  /** A fresh key for the next intent, so that the browser needs no clock and no extra round trip. */
  nextKey: string;
}

/**
 * There is no answer to give, and this says why and what to do. `Reason`: the codes that its handler gives to `fail`; `Input`:
 * what its schema takes, where these are known.
 */
export interface Refusal<Reason extends string = string, Input = never> {
  ok: false;
  code: Code;
  message: string;
  retry: Retry;
  retryAfterMs?: number;
  executed: Executed;
  /** The code that the handler gave to `fail`. */
  reason?: Reason;
  /** The data that the handler gave to `fail`. */
  data?: unknown;
  /** True when the refusal is a stored one and nothing ran for this call. */
  replayed?: boolean;
  /** The errors of the schema, by the path of the field. `''` holds what belongs to no field. */
  fieldErrors?: FieldErrors<Input>;
  /** The entered values, for filling the form again. Fields that look secret are left out. */
  values?: Record<string, string | string[]>;
  key?: string;
  nextKey?: string;
}

/** The answer to every caller: a success, or a refusal that says whether and how to try again. */
export type Outcome<T, Reason extends string = string, Input = never> = Success<T> | Refusal<Reason, Input>;

/** A refusal with the advice and words of its code. Where nothing proves more, whether it was executed is `'unknown'`. */
export function refuse(code: Code, details: Partial<Omit<Refusal, 'ok' | 'code'>> = {}): Refusal {
  const { retry, message } = ADVICE[code];
  return { ok: false, code, message, retry, executed: 'unknown', ...details };
}
