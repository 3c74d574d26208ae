/**
 * What every committed row fulfils that somebody is to look at: the completer, or a person. The condition of the partial
 * index `idempotency_keys_next_attempt_at_idx`, to the letter: with it, the few such rows are found among millions.
 */
const IS_INDEXED = '(next_attempt_at IS NOT NULL OR needs_attention)';

/** A claim in one transaction, committed without its answer: nothing but its state tells it from a settled row. */
export const IS_STRAY = `settled_at IS NULL AND NOT ${IS_INDEXED}`;

/** How many of the newest claims are looked through for strays, which no index holds: some 30 ms. */
const NEWEST = 100_000;

/**
 * Every committed row that is not settled, whatever its lease says. An index of the unsettled states would cost each
 * claim an entry, and each completion its place on the page, so a stray is looked for among the newest claims. The reaper
 * flags those that it sees there, and all whose retention is over, and so puts them into the index (`reap.ts`).
 */
export const UNFINISHED_KEYS = `(
  SELECT * FROM idempotency_keys WHERE settled_at IS NULL AND ${IS_INDEXED}
  UNION ALL
  SELECT * FROM (SELECT * FROM idempotency_keys ORDER BY claimed_at DESC LIMIT ${NEWEST}) AS newest
   WHERE ${IS_STRAY}) AS unfinished`;

/** Of an unfinished row: no completer will come for it. */
export const WAITS_FOR_PERSON = `(next_attempt_at IS NULL OR (state = 'in_progress' AND lease_until IS NULL))`;

/**
 * What a person on call looks for: not settled, and its executor gone, or old, or given up on.
 *
 * @param ms the parameter that says how many milliseconds after its claim a key is old
 */
export function isStuck(ms: string): string {
  return `settled_at IS NULL
   AND (needs_attention OR ${WAITS_FOR_PERSON} OR lease_until <= statement_timestamp()
        OR claimed_at <= statement_timestamp() - ${ms}::float8 * interval '1 ms')`;
}
