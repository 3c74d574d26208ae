import type { Claim } from '../store.ts';
import type { Statement } from './ride.ts';
import { epochMs } from './row.ts';
import { lockTimeout, ticketOf } from './ticket.ts';
import { timestamp } from './wire.ts';

/**
 * Whoever inserts is the executor; the unique index is the only arbiter.
 *
 * The interleaving it prevents: two transactions both look, both see nothing, both run. Here the second INSERT meets
 * the first one's index entry and waits for its transaction. When that commits, ON CONFLICT DO NOTHING returns no row
 * (not an error: P2002 would abort the transaction); when it rolls back, the waiting INSERT goes in.
 *
 * The ticket makes that wait visible before it begins, so that whoever must not wait does not: it tries to draw it, and
 * inserts nothing if another transaction has it. Whoever waits does so for the ticket, within `lock_timeout`, which is
 * set in the same statement and put back by it, so that it never hits the handler's own locks. The CTEs depend on each
 * other to fix their order. Where no row comes back the transaction has nothing left to do, and the setting ends with it.
 *
 * `idle_in_transaction_session_timeout` is for the executor that has gone silent, its machine paused or its cable cut:
 * the server ends its transaction, which nobody else can, and the key is free again.
 *
 * A minted key outside its window is not inserted (K3), judged by the server's clock at this very moment, not at the
 * start of a transaction that may have waited.
 */
const claim = (before: string, from: string, drawn: string, returning: string) => `${before}
INSERT INTO idempotency_keys (tenant, principal, operation, key, state, fingerprint, fingerprint_version, secret_id,
                              schema_version, minted_at, claimed_at, expires_at, trace_parent)
SELECT $1, $2, $3, $4, 'in_progress', $5::bytea, $6::smallint, $7, $8::int, $9::timestamptz, clock_timestamp(),
       greatest(clock_timestamp(), $9::timestamptz) + $11::float8 * interval '1 ms', $14
  ${from}
 WHERE ${drawn}
   AND ($9::timestamptz IS NULL
        OR ($9::timestamptz > clock_timestamp() - $10::float8 * interval '1 ms'
            AND $9::timestamptz <= clock_timestamp() + interval '5 min'))
ON CONFLICT (tenant, principal, operation, key) DO NOTHING
RETURNING ${epochMs('claimed_at')} AS "claimedAtMs", ${epochMs('expires_at')} AS "expiresAtMs",
          set_config('idle_in_transaction_session_timeout', $13, true) AS idle${returning}`;

const PATIENT = claim(
  `
WITH before AS MATERIALIZED (SELECT current_setting('lock_timeout') AS lock_timeout),
     bounded AS MATERIALIZED (SELECT set_config('lock_timeout', $15, true) FROM before),
     ticket AS MATERIALIZED (SELECT pg_advisory_xact_lock($12::bigint) IS NOT NULL AS drawn FROM bounded)`,
  'FROM ticket',
  'drawn',
  `,
          set_config('lock_timeout', (SELECT lock_timeout FROM before), true) AS restored`,
);

// The hot path: nearly every claim is one, and settings and CTEs would be half of its cost.
const IMPATIENT = claim('', '', 'pg_try_advisory_xact_lock($12::bigint)', '');

/** What every claim says, as parameters 1 to 12; its own come behind them. */
export function claimValues(claim: Claim) {
  const { hash, version, secretId } = claim.fingerprint;
  return [
    claim.tenant,
    claim.principal,
    claim.operation,
    claim.key,
    hash,
    version,
    secretId,
    claim.schemaVersion,
    claim.mintedAt && timestamp(claim.mintedAt),
    claim.windowMs,
    claim.retentionMs,
    ticketOf(claim),
  ] as const;
}

/** What a claim returns: one such row, or none where a row or another's claim is in the way, or the key outside its window. */
export interface ClaimedRow {
  claimedAtMs: number;
  expiresAtMs: number;
}

/**
 * The claim of an execution in one transaction.
 *
 * @param holdMs how long the transaction may be idle before the server ends it
 */
export function claimStatement(claim: Claim, holdMs: number): Statement {
  const values = [...claimValues(claim), `${Math.ceil(holdMs) + 1000}ms`, claim.traceParent ?? null];
  if (claim.waitMs <= 0) return { text: IMPATIENT, values };
  return { text: PATIENT, values: [...values, lockTimeout(claim.waitMs)], mayWait: true };
}
