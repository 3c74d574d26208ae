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
