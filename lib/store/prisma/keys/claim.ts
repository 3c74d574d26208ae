import type { Claim } from '../../store.ts';
import { LEVEL, type Rows, type Statement } from '../statement.ts';
import { readOnlyError, timestamp } from '../wire/encoding.ts';
import { epochMs, IS_KEY } from './row.ts';
import { lockTimeout, TICKET, ticketOf } from './ticket.ts';
import { inWindow } from './window.ts';

/**
 * The claim of a transaction whose COMMIT is Prisma's, and of one that waits for another's: a row, completed before COMMIT.
 * The caller whose INSERT succeeds executes; the unique index is the only arbiter.
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
   AND ${inWindow('$9', '$10')}
ON CONFLICT (tenant, principal, operation, key) DO NOTHING
RETURNING ${epochMs('claimed_at')} AS "claimedAtMs", ${epochMs('expires_at')} AS "expiresAtMs",
          set_config('idle_in_transaction_session_timeout', $13, true) AS idle, ${LEVEL}${returning}`;

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

const IMPATIENT = claim('', '', 'pg_try_advisory_xact_lock($12::bigint)', '');

/**
 * The claim of a transaction of the kit's own, which nearly every claim is. It writes nothing: nobody could see the row
 * before COMMIT, the ticket keeps others out until then, and the completion writes it once and whole (`complete.ts`). There
 * the unique index decides again, should a row have come without a ticket.
 *
 * Two statements, because one would look with a snapshot taken before it had the ticket: a rival that commits in between
 * would be missed, and the handler run beside its effect. The setting says to the completion that it is still the same
 * transaction, and ends with it.
 */
const DRAW = `
SELECT set_config('${TICKET}', CASE WHEN pg_try_advisory_xact_lock($1::bigint) THEN 'drawn' ELSE '' END, true)`;
const LOOK = `
SELECT current_setting('${TICKET}') = 'drawn'
       AND NOT EXISTS (SELECT FROM idempotency_keys WHERE ${IS_KEY})
       AND ${inWindow('$5', '$6')} AS "isFree",
       current_setting('transaction_read_only') = 'on' AS "isReadOnly",
       ${epochMs('clock_timestamp()')} AS "claimedAtMs",
       set_config('idle_in_transaction_session_timeout', $7, true) AS idle`;

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

/** A key that is this execution's. */
export interface Claimed {
  claimedAtMs: number;
  expiresAtMs: number;
  /** Its row is there, and is to be completed; otherwise the completion writes it. */
  isWritten: boolean;
}

/**
 * The claim of an execution in one transaction. Read its last answer with `claimedBy`.
 *
 * @param holdMs how long the transaction may be idle before the server ends it
 * @param writesOnce whether the completion writes the row: where nobody but the kit sends COMMIT, under READ COMMITTED
 */
export function claimStatements(claim: Claim, holdMs: number, writesOnce: boolean): Statement[] {
  const idle = `${Math.ceil(holdMs) + 1000}ms`;
  if (writesOnce && claim.waitMs <= 0) {
    const { tenant, principal, operation, key, mintedAt, windowMs } = claim;
    const look = [tenant, principal, operation, key, mintedAt && timestamp(mintedAt), windowMs, idle];
    return [
      { text: DRAW, values: [ticketOf(claim)] },
      { text: LOOK, values: look },
    ];
  }
  const values = [...claimValues(claim), idle, claim.traceParent ?? null];
  if (claim.waitMs <= 0) return [{ text: IMPATIENT, values }];
  return [{ text: PATIENT, values: [...values, lockTimeout(claim.waitMs)], mayWait: true }];
}

type Inserted = Omit<Claimed, 'isWritten'>;
type Looked = { isFree: boolean; isReadOnly: boolean; claimedAtMs: number };

/**
 * The claim, or nothing where a row or another's claim is in the way, or the key outside its window.
 *
 * @throws the server's own error (25006) in a transaction that may not write: before the handler finds out
 */
export function claimedBy(claim: Claim, [row]: Rows): Claimed | undefined {
  if (!row) return undefined;
  if (!('isFree' in (row as object))) return { ...(row as Inserted), isWritten: true };
  const { isFree, isReadOnly, claimedAtMs } = row as Looked;
  if (!isFree) return undefined;
  if (isReadOnly) throw readOnlyError();
  const expiresAtMs = Math.max(claimedAtMs, claim.mintedAt?.getTime() ?? 0) + claim.retentionMs;
  // In whole seconds, so that index entries share theirs: never kept shorter than promised, never claimed later than it was.
  return {
    claimedAtMs: Math.floor(claimedAtMs / 1000) * 1000,
    expiresAtMs: Math.ceil(expiresAtMs / 1000) * 1000,
    isWritten: false,
  };
}
