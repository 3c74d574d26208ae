import type { Code, Outcome } from './outcome.ts';

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

/** The kind that a refusal counts as; undefined for one from before its key mattered, which says nothing about keys. */
const COUNTED_AS = {
  validation: undefined,
  malformed_body: undefined,
  unsupported_media_type: undefined,
  payload_too_large: undefined,
  key_missing: undefined,
  key_malformed: undefined,
  key_invalid: undefined,
  key_expired: 'expired',
  key_abandoned: 'expired',
  unauthorized: undefined,
  precondition_failed: undefined,
  precondition_required: undefined,
  not_found: undefined,
  payload_mismatch: 'mismatch',
  in_flight: 'in_flight',
  already_done: 'replayed',
  outcome_unknown: 'unknown',
  rate_limited: undefined,
  failed: 'failed',
  unavailable: 'error',
  phase_mismatch: 'error',
  result_unreadable: 'error',
  result_too_large: 'error',
  internal: 'error',
} as const satisfies Record<Code, Tallied | undefined>;

/** Returns the kind that a call counts as. */
export function tallied(outcome: Outcome<unknown>): Tallied | undefined {
  if (outcome.ok) return outcome.replayed ? 'replayed' : 'created';
  if (outcome.code === 'failed' && outcome.replayed) return 'replayed';
  return COUNTED_AS[outcome.code];
}
