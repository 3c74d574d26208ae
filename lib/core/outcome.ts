import { ADVICE, type Code, type Retry } from './codes.ts';
import type { FieldErrors } from './standard-schema.ts';

/**
 * The union every caller gets. Expected failures are values, never throws.
 * This file is free of Node, so that the browser half may import it.
 */

/**
 * Says of the effect of this *key* whether it exists, not whether this attempt ran. `false` only where it is proven that
 * nothing was committed and nothing can have been, or of a stored refusal, where no foreign call of it can have been done: what
 * the handler wrote beside `fail` is the refusal's own. `'unknown'` is honest about everything else.
 */
export type Executed = boolean | 'unknown';

/**
 * The words of a `payload_mismatch` for whoever may be told what the first submission came to, by the state of its key: only a
 * success is what counts.
 */
export const MISMATCH_MESSAGES = {
  succeeded: 'This form was already sent with other values. The first submission counts.',
  failed: 'This form was already sent with other values, and was refused. Open it anew to send these.',
  in_progress: 'This form was already sent with other values, and is still being processed.',
  unknown:
    'This form was already sent with other values, which may have gone through. Please do not send it again: we are finding out.',
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

/**
 * The knowledge of a key's effect, by its source. A read that found no row is not among it: a claim may be on its way, so
 * that is only a hint.
 */
export type Proof = keyof typeof EXECUTED;

const EXECUTED = {
  /** The key was made by this very call, so nobody else can have sent it. */
  minted: false,
  /** The caller says that it sends the key for the first time. */
  said_first: false,
  /** The claim was inserted, so no row stood; its COMMIT was never sent, or refused by the server. */
  rolled_back: false,
  /** A committed row says that the key will never execute. */
  tombstone: false,
  /** A committed row holds a result, or a refusal of a version that did not say. */
  answer: true,
  /** A refusal was stored, and no foreign call of its key can have been done. */
  refusal: false,
  none: 'unknown',
} as const satisfies Record<string, Executed>;

/** Decides what a refusal may say of its key's effect. A stored one says what it was stored with. */
export function executedBy(proof: Proof): Executed {
  return EXECUTED[proof];
}

/** The proof that a call brings by itself. An attempt that is not said proves nothing: it may be a retry. */
export function proofOfCall(call: { keyless?: boolean | undefined; attempt?: number | undefined }): Proof {
  if (call.keyless) return 'minted';
  return call.attempt === 1 ? 'said_first' : 'none';
}
