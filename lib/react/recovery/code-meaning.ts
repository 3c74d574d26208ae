import type { Code } from '../../core/outcome.ts';

/** The part of a refusal that is about its key, whatever an earlier attempt has done. */
export type Meaning =
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

/** A code that a newer server may send and that is not here counts as `attempt`. */
export const MEANINGS: Record<Code, Meaning> = {
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
  unavailable: 'transient',
  phase_mismatch: 'attempt',
  result_unreadable: 'settled',
  result_too_large: 'attempt',
  internal: 'transient',
};
