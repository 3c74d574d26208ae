/**
 * What every committed row fulfils that is not settled: the completer is to look at it, or a person must. The condition of
 * the partial index `idempotency_keys_next_attempt_at_idx`, to the letter: with it, the few rows that are open are found
 * among millions.
 */
export const IS_OPEN = '(next_attempt_at IS NOT NULL OR needs_attention)';

/**
 * What a person on call looks for: not settled, and its executor gone, or old, or given up on.
 *
 * @param ms the parameter that says how many milliseconds after its claim a key is old
 */
export function isStuck(ms: string): string {
  return `state IN ('in_progress', 'unknown')
   AND (needs_attention OR lease_until <= statement_timestamp()
        OR claimed_at <= statement_timestamp() - ${ms}::float8 * interval '1 ms')`;
}
