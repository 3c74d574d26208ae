import type { Outcome } from './outcome.ts';

/**
 * How calls are counted that have reached a key:
 *
 * - `created`: it was done by this call;
 * - `failed`: this call ended in a refusal that was stored;
 * - `replayed`: answered with what was stored before, a refusal too;
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

/** What a call counts as, one of `TALLIED`. */
export type Tallied = (typeof TALLIED)[number];

/**
 * What a call counts as; undefined for one that was refused before its key mattered: it says nothing about keys.
 */
export function tallied(outcome: Outcome<unknown>): Tallied | undefined {
  if (outcome.ok) return outcome.replayed ? 'replayed' : 'created';
  switch (outcome.code) {
    case 'failed':
      return outcome.replayed ? 'replayed' : 'failed';
    case 'in_flight':
      return 'in_flight';
    case 'payload_mismatch':
      return 'mismatch';
    case 'key_expired':
    case 'key_abandoned':
      return 'expired';
    case 'outcome_unknown':
      return 'unknown';
    case 'unavailable':
    case 'phase_mismatch':
    case 'result_unreadable':
    case 'result_too_large':
    case 'internal':
      return 'error';
    default:
      return undefined;
  }
}
